// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// ask sends a request without fields and gives the answer.
func ask(t *testing.T, addr string, code int32, body string) *remoting.Command {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := remoting.NewClient(nil, nil, remoting.DefaultConfig())
	defer func() { _ = client.Close() }()
	answer, err := client.Call(ctx, addr, &remoting.Command{Code: code, Body: []byte(body)})
	if err != nil {
		t.Fatalf("ask %s: %v", addr, err)
	}
	return answer
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := http.Client{Timeout: patience}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

func TestServersStartAndStop(t *testing.T) {
	tests := []struct {
		args    []string
		listens []string // names in the banner whose addresses answer requests
		metric  string
		ready   string
	}{
		{args: []string{"nameserver"}, listens: []string{"name server"}, metric: "goddard_nameserver_brokers", ready: "ready\n"},
		{args: []string{"broker", "-n", "127.0.0.1:1"}, listens: []string{"broker", "fast port"}, metric: "rocketmq_", ready: "broker: cannot register at 127.0.0.1:1\n"},
		{args: []string{"server"}, listens: []string{"name server", "broker", "fast port"}, metric: "rocketmq_", ready: "ready\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args[0], func(t *testing.T) {
			p := start(t, quiet(t, tt.args...)...)
			for _, name := range tt.listens {
				code := protocol.GetNameServerConfig
				if name != "name server" {
					code = protocol.GetBrokerConfig
				}
				if a := ask(t, p.says[name], code, ""); a.Code != protocol.Success {
					t.Errorf("%s at %q answers %d", name, p.says[name], a.Code)
				}
			}
			base := "http://" + p.says["http"]
			for path, want := range map[string]string{"/healthz": "ok\n", "/metrics": tt.metric, "/debug/pprof/": "goroutine"} {
				if status, body := get(t, base+path); status != http.StatusOK || !strings.Contains(body, want) {
					t.Errorf("%s: status %d, %.200s", path, status, body)
				}
			}
			eventually(t, "/readyz says "+tt.ready, func() bool {
				status, body := get(t, base+"/readyz")
				return body == tt.ready && (status == http.StatusOK) == (tt.ready == "ready\n")
			})
			took := p.signal(t, syscall.SIGTERM)
			if p.code != 0 || took > 2*time.Second {
				t.Errorf("SIGTERM: exit code %d after %v: %s", p.code, took, p.stderr)
			}
		})
	}
}

// In one process the broker finds the name server without being told.
func TestServerRegistersWithItself(t *testing.T) {
	p := start(t, quiet(t, "server")...)
	if p.says["registers with"] != p.says["name server"] {
		t.Errorf("registers with %q, the name server is at %q", p.says["registers with"], p.says["name server"])
	}
	eventually(t, "the name server knows the broker", func() bool {
		_, page := get(t, "http://"+p.says["http"]+"/metrics")
		return strings.Contains(page, `goddard_nameserver_brokers{node_type="nameserver"} 1`)
	})
}

// eventually asks again and again until the answer is yes.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !yes(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

func TestStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	addr := taken.Addr().String()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("brokerName=a\nflushDiskTyp=ASYNC_FLUSH\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	locked := t.TempDir()
	start(t, quiet(t, "server", "--data", locked)...)

	tests := []struct {
		name    string
		environ []string
		args    []string
		code    int
		says    []string // what the one line on standard error names
	}{
		{name: "port of the name server in use", args: []string{"nameserver", "--nameserver-listen", addr}, code: 1, says: []string{"name server", addr, "in use", "--nameserver-listen"}},
		{name: "port of the broker in use", args: []string{"server", "--broker-listen", addr}, code: 1, says: []string{"broker", addr, "in use", "--broker-listen"}},
		{name: "port for HTTP in use", args: []string{"nameserver", "--http-listen", addr}, code: 1, says: []string{"HTTP server", addr, "in use", "--http-listen"}},
		{name: "address of another machine", args: []string{"nameserver", "--nameserver-listen", "192.0.2.1:0"}, code: 1, says: []string{"192.0.2.1:0", "assign requested address"}},
		{name: "data folder in use", args: []string{"server", "--data", locked}, code: 1, says: []string{locked, "another"}},
		{name: "data folder that is a file", args: []string{"server", "--data", file}, code: 1, says: []string{file, "not a directory"}},
		{name: "data folder of a name server that is a file", args: []string{"nameserver", "--data", file}, code: 1, says: []string{file, "not a directory"}},
		{name: "no such file of settings", args: []string{"server", "-c", file + ".gone"}, code: 1, says: []string{file + ".gone", "no such file"}},
		{name: "unknown key in the file", args: []string{"server", "-c", file}, code: 1, says: []string{file + ":2", "flushDiskTyp", "did you mean flushDiskType?"}},
		{name: "bad value", args: []string{"server", "--set", "brokerId=x"}, code: 1, says: []string{"--set", "brokerId=x", "whole number"}},
		{name: "bad value in the environment", environ: []string{"GODDARD_BROKER_ID=x"}, args: []string{"server"}, code: 1, says: []string{"GODDARD_BROKER_ID", "brokerId=x"}},
		{name: "setting without a value", args: []string{"server", "--set", "brokerId"}, code: 1, says: []string{"--set brokerId", "KEY=VALUE"}},
		{name: "address without a port", args: []string{"server", "--broker-listen", "localhost"}, code: 1, says: []string{"--broker-listen=localhost", "HOST:PORT"}},
		{name: "port beyond the last", args: []string{"server", "--nameserver-listen", ":65536"}, code: 1, says: []string{"--nameserver-listen=:65536", "65535"}},
		{name: "log level", args: []string{"server", "--log-level", "loud"}, code: 1, says: []string{"--log-level=loud", "debug, info, warn or error"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := command(t, tt.environ, quiet(t, tt.args...)...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			// Log lines may come before; the sentence is the last line.
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			last := lines[len(lines)-1]
			for _, want := range append(tt.says, "goddard: ") {
				if !strings.Contains(last, want) {
					t.Errorf("%q does not say %q", last, want)
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"serve"}, {"server", "--nosuchflag"}, {"server", "surplus"}, {"nameserver", "--broker-listen", ":0"}} {
		code, out, errOut := command(t, nil, args...)
		if code != 2 || out != "" || !strings.HasPrefix(errOut, "goddard: ") {
			t.Errorf("goddard %s: code %d, out %q, err %q", strings.Join(args, " "), code, out, errOut)
		}
	}
}

func TestPrintConfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "broker.conf")
	text := "brokerName=from-file\nbrokerClusterName=from-file\nnamesrvAddr=from-file:1\nlistenPort=1\ngrpcServerPort=8081\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"NAMESRV_ADDR=env:1", "GODDARD_BROKER_CLUSTER_NAME=from-env", "GODDARD_DATA=" + dir, "GODDARD_SENDTHREADS=4"}
	_, out, _ := command(t, environ, "broker", "--print-config")
	if want := "# environment: NAMESRV_ADDR\nnamesrvAddr=env:1\n"; !strings.Contains(out, want) {
		t.Errorf("a broker's settings lack %q", want)
	}
	_, out, _ = command(t, environ, "server", "--print-config")
	if want := "\nnamesrvAddr=\n"; !strings.Contains(out, want) {
		t.Errorf("a server's settings lack %q", want)
	}
	code, out, errOut := command(t, environ, "server", "-c", file, "--broker-listen", "127.0.0.1:2", "--nameserver-listen", ":3", "--set", "brokerId=0", "--print-config")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	for _, want := range []string{
		"# file: " + file + ":1\nbrokerName=from-file\n",
		"# environment: GODDARD_BROKER_CLUSTER_NAME\nbrokerClusterName=from-env\n",
		"# file: " + file + ":3\nnamesrvAddr=from-file:1\n",
		"# flag: --broker-listen\nlistenPort=2\n",
		"# flag: --nameserver-listen\nlistenPort=3\n",
		"# flag: --set\nbrokerId=0\n",
		"\nbrokerPermission=6\n",
		"storePathRootDir=" + dir + "/store\n",
		"kvConfigPath=" + dir + "/namesrv/kvConfig.json\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q", want)
		}
	}
	for _, want := range []string{"grpcServerPort has no effect", "GODDARD_SENDTHREADS has no effect"} {
		if strings.Count(errOut, want) != 1 {
			t.Errorf("standard error does not say once %q: %s", want, errOut)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := command(t, nil, "version")
	if code != 0 || !strings.HasPrefix(out, "goddard ") || !strings.Contains(out, "V5_5_0") {
		t.Errorf("code %d, %s", code, out)
	}
}

// With --log-format=json nothing but JSON records is written, so that a collector can read all of it.
func TestJSONLog(t *testing.T) {
	var all lockedBuffer
	cmd := exec.Command(goddard(t), append(quiet(t, "nameserver"), "--log-format", "json")...)
	cmd.Env = cleanEnviron()
	cmd.Stdout, cmd.Stderr = &all, &all
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server says that it started", func() bool { return strings.Contains(all.String(), `"msg":"started"`) })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	for record := range strings.Lines(all.String()) {
		if !json.Valid([]byte(record)) {
			t.Errorf("not JSON: %q", record)
		}
	}
	for _, want := range []string{`"msg":"started"`, `"name_server":"127.0.0.1:`, `"msg":"stopped"`} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("nothing says %s: %s", want, &all)
		}
	}
}

// A setting changed by a request outlives the process, wins over the file, and loses to a flag.
func TestChangedSettingsAreKept(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "server.conf")
	if err := os.WriteFile(file, []byte("defaultTopicQueueNums=3\nscanNotActiveBrokerInterval=6000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := quiet(t, "server", "--data", dir, "-c", file)
	p := start(t, args...)
	if a := ask(t, p.says["broker"], protocol.UpdateBrokerConfig, "defaultTopicQueueNums=5\n"); a.Code != protocol.Success {
		t.Fatalf("broker: %d %s", a.Code, a.Remark)
	}
	if a := ask(t, p.says["name server"], protocol.UpdateNameServerConfig, "scanNotActiveBrokerInterval=7000\n"); a.Code != protocol.Success {
		t.Fatalf("name server: %d %s", a.Code, a.Remark)
	}
	p.signal(t, syscall.SIGTERM)

	p = start(t, args...)
	for addr, want := range map[string]string{p.says["broker"]: "\ndefaultTopicQueueNums=5\n", p.says["name server"]: "\nscanNotActiveBrokerInterval=7000\n"} {
		code := protocol.GetBrokerConfig
		if addr == p.says["name server"] {
			code = protocol.GetNameServerConfig
		}
		if a := ask(t, addr, code, ""); !strings.Contains("\n"+string(a.Body), want) {
			t.Errorf("%s is not among %s", want, a.Body)
		}
	}
	p.signal(t, syscall.SIGTERM)

	code, out, errOut := command(t, nil, append(args, "--set", "defaultTopicQueueNums=9", "--print-config")...)
	if code != 0 || !strings.Contains(out, "# flag: --set\ndefaultTopicQueueNums=9\n") ||
		!strings.Contains(out, "# changed while running: "+dir+"/namesrv/namesrv.properties:") {
		t.Errorf("code %d, %s, %s", code, errOut, out)
	}
}
