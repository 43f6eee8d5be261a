// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/test/interop/rig"
)

// The generations of the Java client, each a Maven profile with its own folder of jars.
var generations = []string{"v5", "v4"}

var buildJava = sync.OnceValue(func() error {
	for _, g := range generations {
		cmd := exec.Command("mvn", "-q", "-B", "-P"+g, "compile")
		cmd.Dir = "java"
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("mvn -P%s compile: %w\n%s", g, err, rig.Tail(out, 3000))
		}
	}
	return nil
})

// jvm is a running interop.Main and the pipe to it.
type jvm struct {
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr bytes.Buffer
	cmd    *exec.Cmd
}

// javaCommand is interop.Main with the client of a generation.
func javaCommand(t *testing.T, generation string, args ...string) *exec.Cmd {
	t.Helper()
	if err := buildJava(); err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Abs(filepath.Join("java", "target", generation))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir() // log files, local offsets
	return exec.Command("java", append([]string{"-Xmx512m", "-XX:TieredStopAtLevel=1", "-Djava.security.manager=allow", "-Duser.home=" + home,
		"-Drocketmq.client.logUseSlf4j=false", "-Drocketmq.home.dir=" + rocketmqHome(t, home),
		"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		"-cp", filepath.Join(base, "classes") + ":" + filepath.Join(base, "lib", "*"), "interop.Main"}, args...)...)
}

func startJVM(t *testing.T, generation string, args ...string) *jvm {
	t.Helper()
	j := &jvm{cmd: javaCommand(t, generation, args...)}
	j.cmd.Stderr = &j.stderr
	var err error
	if j.in, err = j.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := j.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	j.out = bufio.NewScanner(stdout)
	j.out.Buffer(nil, 16<<20)
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(5*time.Minute, func() { _ = j.cmd.Process.Kill() })
	t.Cleanup(func() {
		limit.Stop()
		_ = j.cmd.Process.Kill()
		_ = j.cmd.Wait()
		if t.Failed() {
			t.Logf("java: %s", rig.Tail(j.stderr.Bytes(), 4000))
		}
	})
	return j
}

// rocketmqHome is a folder with the logging file that mqadmin 4.x insists on.
func rocketmqHome(t *testing.T, dir string) string {
	t.Helper()
	conf := filepath.Join(dir, "home", "conf")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "logback_tools.xml"), []byte("<configuration/>"), 0o644); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(conf)
}

func TestJava(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			for _, group := range [][]string{
				{"send", "batch", "content", "pull"},
				{"clustering", "broadcasting"},
				{"restartBroker", "restartNameServer"},
			} {
				s := rig.Start(t)
				runJava(t, s, generation, group)
			}
		})
	}
}

// runJava runs scenarios in one JVM, a subtest each, and does what they ask for.
func runJava(t *testing.T, s rig.Server, generation string, scenarios []string) {
	t.Helper()
	j := startJVM(t, generation, append([]string{s.NameServer()}, scenarios...)...)
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			for j.out.Scan() {
				line, ok := strings.CutPrefix(j.out.Text(), "@")
				if !ok {
					continue
				}
				switch {
				case line == "passed "+name:
					return
				case strings.HasPrefix(line, "failed "):
					t.Fatal(line)
				case line == "restart-broker":
					j.answer(s.RestartBroker())
				case line == "restart-nameserver":
					j.answer(s.RestartNameServer())
				default:
					t.Fatalf("the scenario says %q", line)
				}
			}
			t.Fatalf("the JVM ended: %v", j.out.Err())
		})
	}
}

func (j *jvm) answer(err error) {
	if err != nil {
		fmt.Fprintln(j.in, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Fprintln(j.in, "ok")
}

// TestJavaGenerationsTogether: a 4.9 and a 5.5 client in one consumer group share the queues of a topic.
func TestJavaGenerationsTogether(t *testing.T) {
	s := rig.Start(t)
	sender := startJVM(t, "v5", s.NameServer(), "sender", "Together")
	sender.expect(t, "ready")
	sent := sender.send(t, 80) // makes the topic
	members := map[string]*jvm{}
	for _, g := range generations {
		members[g] = startJVM(t, g, s.NameServer(), "member", "Together", "TogetherGroup")
		members[g].expect(t, "ready")
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		counts, total, all := map[string]int{}, 0, true
		for g, m := range members {
			counts[g] = m.count(t)
			total += counts[g]
			all = all && counts[g] > 0
		}
		if all && total >= sent {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("of %d messages the members got %v", sent, counts)
		}
		if !all {
			sent += sender.send(t, 80)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (j *jvm) send(t *testing.T, n int) int {
	t.Helper()
	fmt.Fprintln(j.in, n)
	j.expect(t, "sent")
	return n
}

func (j *jvm) count(t *testing.T) int {
	t.Helper()
	fmt.Fprintln(j.in, "count")
	n := 0
	if _, err := fmt.Sscanf(j.expect(t, "got"), "got %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// expect reads until a line for us that begins with prefix.
func (j *jvm) expect(t *testing.T, prefix string) string {
	t.Helper()
	for j.out.Scan() {
		if line, ok := strings.CutPrefix(j.out.Text(), "@"); ok {
			if strings.HasPrefix(line, prefix) {
				return line
			}
			t.Fatalf("want %q, the JVM says %q", prefix, line)
		}
	}
	t.Fatalf("want %q, the JVM ended: %v", prefix, j.out.Err())
	return ""
}
