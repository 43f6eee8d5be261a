// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// busyEnviron makes this test binary a process that goes on working after it was told to stop.
const busyEnviron = "GODDARD_CLI_TEST_BUSY"

func busy() {
	ctx, stop := interruptible(context.Background())
	defer stop()
	fmt.Println("working")
	<-ctx.Done()
	fmt.Println("stopping")
	select {}
}

// The first signal asks to stop; the second ends even a process that does not get round to it.
func TestSecondSignal(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), busyEnviron+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch lines.Text() {
		case "working":
			err = cmd.Process.Signal(syscall.SIGINT)
		case "stopping":
			err = cmd.Process.Signal(syscall.SIGTERM)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d, want %d", code, 128+int(syscall.SIGTERM))
	}
}
