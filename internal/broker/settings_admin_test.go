// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// settings asks for all settings.
func (r *running) settings() (map[string]string, protocol.DataVersion) {
	r.Helper()
	a := r.success(protocol.GetBrokerConfig, nil)
	list, err := config.ParseProperties(a.Body)
	if err != nil {
		r.Fatal(err)
	}
	all := map[string]string{}
	for _, p := range list {
		all[p.Key] = p.Value
	}
	var v protocol.DataVersion
	if err := javajson.Unmarshal([]byte(a.ext("version")), &v); err != nil {
		r.Fatal(err)
	}
	return all, v
}

func TestSettings(t *testing.T) {
	r := start(t)
	before, v := r.settings()
	if before["brokerName"] != "broker-a" || before["traceOn"] != "true" || before["maxMessageSize"] == "" || before["flushDiskType"] == "" {
		t.Fatalf("settings %v", before)
	}
	set := func(body string) answer { return r.call(protocol.UpdateBrokerConfig, nil, text(body)...) }
	set("noSuchKey=1\n").is(protocol.Success, "")
	set("").is(protocol.Success, "")
	set("rubbish\n").is(protocol.Success, "")
	after, v1 := r.settings()
	if _, there := after["noSuchKey"]; there || v1 != v {
		t.Fatal("a change of nothing")
	}
	set("traceOn=false\nmessageDelayLevel=1s 2s 3s\n").is(protocol.Success, "")
	after, v2 := r.settings()
	if after["traceOn"] != "false" || after["messageDelayLevel"] != "1s 2s 3s" || v2.Counter != v.Counter+1 {
		t.Fatalf("version %v, traceOn %s, levels %q", v2, after["traceOn"], after["messageDelayLevel"])
	}
	if got := r.send(r.topic(), "m", nil).ext("TRACE_ON"); got != "false" {
		t.Fatalf("TRACE_ON=%s", got)
	}
}

func TestRefusedSettings(t *testing.T) {
	r := start(t)
	for _, key := range []string{"brokerConfigPath", "rocketmqHome", "configBlackList"} {
		r.call(protocol.UpdateBrokerConfig, nil, text("traceOn=false\n"+key+"=x\n")...).is(protocol.NoPermission, "Can not update config in black list.")
	}
	if all, _ := r.settings(); all["traceOn"] != "true" {
		t.Fatal("part of a refused update was taken")
	}
	// A value that does not fit is left out, the rest is taken, and the answer says so.
	a := r.call(protocol.UpdateBrokerConfig, nil, text("maxMessageSize=abc\nmessageDelayLevel=soon\ntraceOn=false\nlistenPort=1\n")...)
	if a.Code != protocol.Success || !strings.Contains(a.Remark, "maxMessageSize=abc") || !strings.Contains(a.Remark, "messageDelayLevel") ||
		!strings.Contains(a.Remark, "takes effect after a restart: listenPort") {
		t.Fatalf("%d %q", a.Code, a.Remark)
	}
	all, _ := r.settings()
	if all["traceOn"] != "false" || all["maxMessageSize"] == "abc" || strings.Contains(all["messageDelayLevel"], "soon") {
		t.Fatalf("settings %v", all)
	}
}

// Settings that are read at start only are taken for the next start; the running broker goes on as it is, to its very
// end: a changed folder must not leave the file abort behind in the old one, nor a changed port be registered.
func TestSettingsForTheNextStart(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "broker.properties")
	r := start(t, func(c *Config) { c.Identity.Kept = kept })
	topic, elsewhere := r.topic(), filepath.Join(t.TempDir(), "elsewhere")
	before := *r.Broker.cfg.Load()
	update := strings.Join([]string{
		"listenPort=12345", "brokerIP1=192.0.2.1", "brokerName=other", "brokerClusterName=others", "storePathRootDir=" + elsewhere,
		"storePathCommitLog=" + elsewhere + "/log", "flushDiskType=SYNC_FLUSH", "mappedFileSizeCommitLog=4096", "brokerId=1", "traceOn=false", "",
	}, "\n")
	a := r.success(protocol.UpdateBrokerConfig, nil, text(update)...)
	want := "takes effect after a restart: listenPort, brokerIP1, brokerName, brokerClusterName, storePathRootDir, storePathCommitLog, " +
		"flushDiskType, mappedFileSizeCommitLog, brokerId"
	if a.Remark != want {
		t.Errorf("remark %q, want %q", a.Remark, want)
	}
	after := *r.Broker.cfg.Load()
	if after.Identity.TraceOn {
		t.Error("what may change at once did not")
	}
	after.Identity.TraceOn = true
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("the running broker has other settings:\n%s", d)
	}
	shown, _ := r.settings()
	b, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	keptNow := map[string]string{}
	properties, err := config.ParseProperties(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range properties {
		keptNow[p.Key] = p.Value
	}
	for line := range strings.Lines(update) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if shown[key] != value || keptNow[key] != value {
			t.Errorf("%s: shown as %q, kept as %q, want %q", key, shown[key], keptNow[key], value)
		}
	}
	if got := r.send(topic, "m", nil); !strings.HasPrefix(got.ext("msgId"), offsetIDHost(r)) {
		t.Errorf("message id %s does not lead to the broker", got.ext("msgId"))
	}
	r.stop()
	if _, err := os.Stat(filepath.Join(r.cfg.Store.Root, "abort")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the clean stop left the file abort: %v", err)
	}
	if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the broker touched the other folder: %v", err)
	}
}

// offsetIDHost is how ids of messages begin that the broker stored: its address.
func offsetIDHost(r *running) string {
	host := r.Broker.sender.storeHost
	return strings.ToUpper(hex.EncodeToString(host.Addr().AsSlice()) + fmt.Sprintf("%08x", host.Port()))
}

func TestChangedSettingsReachTheStore(t *testing.T) {
	r := start(t)
	topic := r.topic()
	r.send(topic, strings.Repeat("x", 2000), nil)
	r.success(protocol.UpdateBrokerConfig, nil, text("maxMessageSize=1000\n")...)
	if a := r.trySend(topic, strings.Repeat("x", 2000), nil); a.Code != protocol.MessageIllegal {
		t.Fatalf("%d %s", a.Code, a.Remark)
	}
}

func TestChangedSettingsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broker.properties")
	r := start(t, func(c *Config) { c.Identity.Kept = path })
	r.success(protocol.UpdateBrokerConfig, nil, text("traceOn=false\nmessageDelayLevel = 1s 5s \n")...)
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), "traceOn=false\n") || !strings.Contains(string(b), "messageDelayLevel=1s 5s\n") {
		t.Fatalf("%v: %s", err, b)
	}
}
