// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"context"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// running is a name server on a socket.
type running struct {
	*Server
	t    *testing.T
	addr string
	stop func()
}

// start runs a name server until the test ends or stop is called. Its key-value
// file lies in a folder of the test; change may say otherwise.
func start(t *testing.T, change func(c *Config)) *running {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Files.KV = filepath.Join(t.TempDir(), "kvConfig.json")
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.Run(ctx) }()
	go func() { ended <- s.Serve(l) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		drain, done := context.WithTimeout(context.Background(), patience)
		defer done()
		if err := s.Shutdown(drain); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("ended with %v", err)
			}
		}
	}
	t.Cleanup(stop)
	return &running{Server: s, t: t, addr: l.Addr().String(), stop: stop}
}

// peer is one connection to a name server.
type peer struct {
	t    *testing.T
	conn *remoting.Conn
}

func (r *running) dial() *peer {
	r.t.Helper()
	nc, err := net.DialTimeout("tcp", r.addr, patience)
	if err != nil {
		r.t.Fatal(err)
	}
	p := &peer{t: r.t, conn: remoting.NewConn(nc, nil, remoting.DefaultConfig())}
	r.t.Cleanup(p.hangUp)
	return p
}

func (p *peer) hangUp() {
	_ = p.conn.Close()
	<-p.conn.Done()
}

// call asks and fails the test when there is no answer. fields: name, value, name, value, ...
func (p *peer) call(code int32, body []byte, fields ...string) *remoting.Command {
	p.t.Helper()
	return p.send(&remoting.Command{Code: code, Body: body}, fields...)
}

func (p *peer) send(c *remoting.Command, fields ...string) *remoting.Command {
	p.t.Helper()
	for i := 0; i < len(fields); i += 2 {
		c.Fields.Add(fields[i], fields[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer, err := p.conn.Call(ctx, c)
	if err != nil {
		p.t.Fatalf("%s: %v", protocol.CodeName(c.Code), err)
	}
	return answer
}

// must is call for a request that must succeed.
func (p *peer) must(code int32, body []byte, fields ...string) *remoting.Command {
	p.t.Helper()
	answer := p.call(code, body, fields...)
	if answer.Code != protocol.Success {
		p.t.Fatalf("%s: %d %s", protocol.CodeName(code), answer.Code, answer.Remark)
	}
	return answer
}

// register registers a broker of cluster C with topics, in the form brokers use.
func (p *peer) register(q protocol.RegisterBrokerRequest, version int64, topics ...string) *remoting.Command {
	p.t.Helper()
	body := javajson.Marshal(bodyOf(topics, version), javajson.Bare)
	q.ClusterName = or(q.ClusterName, "C")
	q.BrokerName = or(q.BrokerName, "a")
	q.BrokerAddr = or(q.BrokerAddr, fmt.Sprintf("%s:%d", q.BrokerName, q.BrokerID))
	q.HAServerAddr = q.BrokerAddr + "/ha"
	q.BodyCRC32 = int32(crc32.ChecksumIEEE(body) & 0x7fffffff)
	answer := p.send(&remoting.Command{Code: protocol.RegisterBroker, Header: header.Of(&q), Body: body})
	if answer.Code != protocol.Success {
		p.t.Fatalf("registration: %d %s", answer.Code, answer.Remark)
	}
	return answer
}

// route gives the code and, in short, the route of a topic.
func (p *peer) route(topic string) string {
	p.t.Helper()
	answer := p.call(protocol.GetRouteInfoByTopic, nil, "topic", topic)
	if answer.Code != protocol.Success {
		return strconv.Itoa(int(answer.Code))
	}
	var r protocol.TopicRouteData
	if err := javajson.Unmarshal(answer.Body, &r); err != nil {
		p.t.Fatal(err)
	}
	return show(&r)
}

// eventually waits until got gives want.
func eventually(t *testing.T, want string, got func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		g := got()
		if g == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %q, want %q", g, want)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestRegistrationForms(t *testing.T) {
	topics := bodyOf([]string{"T", "U"}, 7)
	topics.FilterServerList = []string{}
	full := javajson.Marshal(topics, javajson.Bare)
	bare := javajson.Marshal(&topics.Topics, javajson.Bare)
	compressed, err := protocol.CompressRegisterBody(topics, protocol.V5_0_0)
	if err != nil {
		t.Fatal(err)
	}
	old, err := protocol.CompressRegisterBody(topics, protocol.V4_9_4)
	if err != nil {
		t.Fatal(err)
	}
	const found = "a 16/16 perm 6 0=a:0"
	for _, row := range []struct {
		form    string
		version int32
		body    []byte
		fields  []string
		code    int32
		remark  string // "*": any
		want    string
	}{
		{form: "JSON", version: 513, body: full, want: found},
		{form: "JSON, checked", version: 513, body: full, fields: []string{"bodyCrc32", crc(full)}, want: found},
		{form: "JSON of 4.x", version: 407, body: full, want: found},
		{form: "JSON of the first version that sends it", version: 37, body: full, want: found},
		{form: "topics alone, before that", version: 36, body: bare, want: found},
		{form: "compressed", version: 513, body: compressed, fields: []string{"compressed", "true", "bodyCrc32", crc(compressed)}, want: found},
		{form: "compressed of 4.x, without mappings", version: 407, body: old, fields: []string{"compressed", "true"}, want: found},
		{form: "compressed, not told", version: 513, body: compressed, want: found},
		{form: "nothing", version: 513, want: "17"},
		{form: "wrong checksum", version: 513, body: full, fields: []string{"bodyCrc32", "5"}, code: 1, remark: "crc32 not match", want: "17"},
		{form: "garbage", version: 513, body: []byte("{{{"), code: 1, remark: "*", want: "17"},
		{form: "garbage, compressed", version: 513, body: compressed[:len(compressed)/2], code: 1, remark: "*", want: "17"},
		{form: "one topic", version: 513, body: javajson.Marshal(bodyOf([]string{"T"}, 7), javajson.Bare), code: 1, remark: "register broker failed", want: "17"},
	} {
		t.Run(row.form, func(t *testing.T) {
			s := start(t, nil)
			p := s.dial()
			cfg := remoting.DefaultConfig()
			cfg.Version = row.version
			nc, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			broker := &peer{t: t, conn: remoting.NewConn(nc, nil, cfg)}
			defer broker.hangUp()
			answer := broker.call(protocol.RegisterBroker, row.body, append([]string{
				"brokerName", "a", "brokerAddr", "a:0", "clusterName", "C", "brokerId", "0"}, row.fields...)...)
			if answer.Code != row.code || answer.Remark != row.remark && row.remark != "*" {
				t.Errorf("answer %d %q, want %d %q", answer.Code, answer.Remark, row.code, row.remark)
			}
			if got := p.route("T"); got != row.want {
				t.Errorf("route %q, want %q", got, row.want)
			}
		})
	}
}

func crc(b []byte) string {
	return strconv.Itoa(int(crc32.ChecksumIEEE(b) & 0x7fffffff))
}

func TestRequestsThatLackEverything(t *testing.T) {
	s := start(t, nil)
	p := s.dial()
	for _, code := range []int32{100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327, 901, 904, 9999} {
		for _, body := range [][]byte{nil, []byte("\x00\xff{]")} {
			answer := p.call(code, body)
			if answer.Code != protocol.Success && answer.Remark == "" {
				t.Errorf("%d refused with %d and no word why", code, answer.Code)
			}
		}
	}
	for field, want := range map[string]string{
		"brokerName": `header field brokerName is missing`, "brokerId": `header field brokerId is missing`,
	} {
		fields := []string{}
		for _, f := range []string{"brokerName", "brokerAddr", "clusterName", "brokerId"} {
			if f != field {
				fields = append(fields, f, "1")
			}
		}
		if answer := p.call(protocol.RegisterBroker, nil, fields...); answer.Code != protocol.SystemError || answer.Remark != want {
			t.Errorf("without %s: %d %q", field, answer.Code, answer.Remark)
		}
	}
}

func TestBrokerThatHangsUpIsGoneAtOnce(t *testing.T) {
	s := start(t, nil)
	p, broker := s.dial(), s.dial()
	broker.register(protocol.RegisterBrokerRequest{}, 1, "T", "U")
	if got := p.route("T"); got != "a 16/16 perm 6 0=a:0" {
		t.Fatalf("route %q", got)
	}
	broker.hangUp()
	eventually(t, "17", func() string { return p.route("T") })
}

// A broker that was restarted, or lost its connection, registers through a new
// connection while the old one is still open; then the old one closes, or says
// goodbye. No client may see the topic vanish.
func TestLateGoodbyeOfAnOldConnection(t *testing.T) {
	s := start(t, nil)
	p, first, second := s.dial(), s.dial(), s.dial()
	goodbye := []string{"brokerName", "a", "brokerAddr", "a:0", "clusterName", "C", "brokerId", "0"}
	const want = "a 16/16 perm 6 0=a:0"
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"registered", func() { first.register(protocol.RegisterBrokerRequest{}, 1, "T", "U") }},
		{"registered again", func() { second.register(protocol.RegisterBrokerRequest{}, 1, "T", "U") }},
		{"old connection said goodbye", func() { first.must(protocol.UnregisterBroker, nil, goodbye...) }},
		{"goodbye under another id", func() {
			second.must(protocol.UnregisterBroker, nil, "brokerName", "a", "brokerAddr", "a:0", "clusterName", "C", "brokerId", "1")
		}},
		{"old connection closed", first.hangUp},
	} {
		step.do()
		for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
			if got := p.route("T"); got != want {
				t.Fatalf("%s: route %q, want %q", step.what, got, want)
			}
		}
	}
	second.must(protocol.UnregisterBroker, nil, goodbye...)
	eventually(t, "17", func() string { return p.route("T") })
}

func TestSilentBrokerExpiresAndLosesItsConnection(t *testing.T) {
	s := start(t, func(c *Config) { c.Brokers.ScanInterval = 10 * time.Millisecond })
	p, silent, talking := s.dial(), s.dial(), s.dial()
	silent.register(protocol.RegisterBrokerRequest{BrokerName: "a", HeartbeatTimeoutMillis: new(int64(200))}, 1, "T", "U")
	talking.register(protocol.RegisterBrokerRequest{BrokerName: "b", HeartbeatTimeoutMillis: new(int64(2000))}, 1, "T", "U")
	if got := p.route("T"); got != "a 16/16 perm 6 0=a:0, b 16/16 perm 6 0=b:0" {
		t.Fatalf("route %q", got)
	}
	started := time.Now()
	beat := func() string {
		talking.must(protocol.BrokerHeartbeat, nil, "clusterName", "C", "brokerAddr", "b:0", "brokerName", "b")
		return p.route("T")
	}
	eventually(t, "b 16/16 perm 6 0=b:0", beat)
	if after := time.Since(started); after < 150*time.Millisecond {
		t.Errorf("expired after %v", after)
	}
	select {
	case <-silent.conn.Done():
	case <-time.After(patience):
		t.Error("the connection of the expired broker is still open")
	}
	if talking.conn.Closed() {
		t.Error("the connection of the other broker is closed")
	}
}

// A name server that was told to listen elsewhere goes on where it is until it is started anew.
func TestSettingsForTheNextStart(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "namesrv.properties")
	s := start(t, func(c *Config) { c.Files.Settings = kept })
	p := s.dial()
	before := *s.Config().Load()
	answer := p.call(protocol.UpdateNameServerConfig, []byte("listenPort=12345\norderMessageEnable=true\n"))
	if answer.Code != 0 || answer.Remark != "takes effect after a restart: listenPort" {
		t.Errorf("%d %q", answer.Code, answer.Remark)
	}
	if now := s.Config().Load(); now.Listen != before.Listen || !now.Routes.OrderConf {
		t.Errorf("runs with %+v, %+v", now.Listen, now.Routes)
	}
	all := string(p.must(protocol.GetNameServerConfig, nil).Body)
	b, err := os.ReadFile(kept)
	for what, text := range map[string]string{"shown": all, "kept": string(b)} {
		if !strings.Contains(text, "listenPort=12345\n") || !strings.Contains(text, "orderMessageEnable=true\n") {
			t.Errorf("%s: %s (%v)", what, text, err)
		}
	}
}

func TestSettings(t *testing.T) {
	s := start(t, nil)
	p := s.dial()
	p.register(protocol.RegisterBrokerRequest{}, 1, "T", "U")
	set := func(text string) *remoting.Command { return p.call(protocol.UpdateNameServerConfig, []byte(text)) }
	order := func() string {
		var r protocol.TopicRouteData
		if err := javajson.Unmarshal(p.must(protocol.GetRouteInfoByTopic, nil, "topic", "T").Body, &r); err != nil {
			t.Fatal(err)
		}
		return r.OrderTopicConf
	}
	p.must(protocol.PutKVConfig, nil, "namespace", "ORDER_TOPIC_CONFIG", "key", "T", "value", "a:4")
	if got := order(); got != "" {
		t.Errorf("order conf %q without orderMessageEnable", got)
	}
	if answer := set("orderMessageEnable=true\nnoSuchKey=1\nrubbish\nscanNotActiveBrokerInterval=soon\n"); answer.Code != 0 {
		t.Errorf("%d %s", answer.Code, answer.Remark)
	}
	if got := order(); got != "a:4" {
		t.Errorf("order conf %q", got)
	}
	p.must(protocol.PutKVConfig, nil, "namespace", "ORDER_TOPIC_CONFIG", "key", "T", "value", "a:5")
	if got := order(); got != "a:5" {
		t.Errorf("order conf %q after a change", got)
	}
	for _, key := range []string{"kvConfigPath", "configStorePath", "configBlackList", "rocketmqHome"} {
		if answer := set("orderMessageEnable=false\n" + key + "=x"); answer.Code != protocol.NoPermission || answer.Remark != "Can not update config in black list." {
			t.Errorf("%s: %d %s", key, answer.Code, answer.Remark)
		}
	}
	if got := order(); got != "a:5" {
		t.Error("a refused update has changed something")
	}
	if answer := set(`a=\u12`); answer.Code != protocol.SystemError || answer.Remark != "string2Properties error" {
		t.Errorf("%d %s", answer.Code, answer.Remark)
	}
	set("enableAllTopicList=false\nenableTopicList=false")
	for _, code := range []int32{206, 224, 311, 312, 313} {
		if answer := p.call(code, nil, "cluster", "C"); answer.Code != protocol.SystemError || answer.Remark != "disable" {
			t.Errorf("%d: %d %s", code, answer.Code, answer.Remark)
		}
	}
	p.must(304, nil)
	all := string(p.must(protocol.GetNameServerConfig, nil).Body)
	const want = "bindAddress=0.0.0.0\nconfigBlackList=configBlackList;configStorePath;kvConfigPath\nconfigStorePath=\ndefaultThreadPoolNums=16\n"
	if len(all) < len(want) || all[:len(want)] != want {
		t.Errorf("settings begin with %.200q", all)
	}
}

func TestChangedSettingsAreKept(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "sub", "namesrv.properties")
	s := start(t, func(c *Config) { c.Files.Settings = kept })
	p := s.dial()
	p.must(protocol.UpdateNameServerConfig, []byte("orderMessageEnable=true"))
	if c := s.Config().Load(); !c.Routes.OrderConf {
		t.Error("not in force")
	}
	checkKept(t, kept, "orderMessageEnable=true")
}

func TestNotReadyAfterTheStart(t *testing.T) {
	s := start(t, func(c *Config) { c.Routes.WaitForBroker, c.Routes.StartupWait = true, time.Hour })
	p := s.dial()
	p.register(protocol.RegisterBrokerRequest{}, 1, "T", "U")
	if answer := p.call(protocol.GetRouteInfoByTopic, nil, "topic", "T"); answer.Code != protocol.SystemError || answer.Remark != "name server not ready" {
		t.Errorf("%d %s", answer.Code, answer.Remark)
	}
	p.must(protocol.UpdateNameServerConfig, []byte("waitSecondsForService=0"))
	if got := p.route("T"); got != "a 16/16 perm 6 0=a:0" {
		t.Errorf("route %q when the time is over", got)
	}
}

func TestLeave(t *testing.T) {
	s := start(t, func(c *Config) { c.Listen.GoAway, c.Listen.Wait = true, time.Minute })
	p := s.dial()
	p.register(protocol.RegisterBrokerRequest{}, 1, "T", "U")
	left := make(chan struct{})
	go func() { s.Leave(); close(left) }()
	for end := time.Now().Add(patience); p.call(protocol.GetBrokerClusterInfo, nil).Code != protocol.GoAway; {
		if time.Now().After(end) {
			t.Fatal("still served")
		}
	}
	select {
	case <-left:
		t.Error("left while somebody is connected")
	default:
	}
	p.hangUp()
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("nobody is connected, and the name server waits")
	}
}

func TestInvalidSettingsAreAllNamed(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Listen.Port, cfg.Brokers.DepartureQueue, cfg.Lane.Workers = -1, 0, 0
	_, err := New(cfg, Deps{})
	if err == nil {
		t.Fatal("taken")
	}
	for _, key := range []string{"listenPort", "unRegisterBrokerQueueCapacity", "defaultThreadPoolNums"} {
		if !contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
}
