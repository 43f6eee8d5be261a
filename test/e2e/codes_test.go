// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// A request that nobody knows is answered as such; what was sent before and after it on the same connection is served.
func TestUnknownRequestCodeIsAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	dial(t, s.broker).createTopic("neighbours", 1)
	for _, at := range []struct {
		role, addr string
		good       *remoting.Command
	}{
		{"broker", s.broker, request(protocol.GetMaxOffset, protocol.QueueHeader{Topic: "neighbours"}, nil)},
		{"name server", s.nameServer, request(protocol.GetRouteInfoByTopic, protocol.RouteRequest{Topic: "neighbours"}, nil)},
	} {
		for _, f := range []form{remoting.JSON, remoting.Binary} {
			for _, code := range []int32{3442, 9999, -1} {
				t.Run(fmt.Sprintf("%s/%v/%d", at.role, f, code), func(t *testing.T) {
					unknown := request(code, protocol.TopicHeader{Topic: "neighbours"}, []byte("body"))
					r := dialRaw(t, at.addr)
					var data []byte
					for opaque, req := range []*remoting.Command{at.good, at.good, unknown, at.good, at.good} {
						data = append(data, frame(t, f, int32(opaque), req)...)
					}
					if _, err := r.Write(data); err != nil {
						t.Fatal(err)
					}
					answers := map[int32]*remoting.Command{}
					for range 5 {
						answer, err := r.read()
						if err != nil {
							t.Fatal(err)
						}
						answers[answer.Opaque] = answer
					}
					for opaque := range int32(5) {
						answer := answers[opaque]
						switch {
						case answer == nil:
							t.Errorf("request %d got no answer", opaque)
						case opaque != 2 && answer.Code != 0:
							t.Errorf("neighbour %d was answered %d: %s", opaque, answer.Code, answer.Remark)
						case opaque == 2 && answer.Code != protocol.RequestCodeNotSupported:
							t.Errorf("answered %d, want 3", answer.Code)
						case opaque == 2 && !strings.Contains(answer.Remark, fmt.Sprint(code)):
							t.Errorf("the remark %q does not name the code", answer.Remark)
						}
					}
				})
			}
		}
	}
}

// The same requests do the same, whichever form their headers have.
func TestBothFormsOfHeader(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	for _, f := range []form{remoting.JSON, remoting.Binary} {
		t.Run(f.String(), func(t *testing.T) {
			w := dialForm(t, s.broker, f)
			topic := "form_" + f.String()
			w.createTopic(topic, 1)
			const text = "ключ 鍵 \U0001F511 \"\\/"
			sent := w.send(outgoing{topic: topic, body: []byte(text), props: properties(true, "KEYS", "k", "text", text)})
			got := w.read(topic, 0)
			if len(got) != 1 || string(got[0].Body) != text || property(&got[0], "text") != text {
				t.Fatalf("read back %v", got)
			}
			if m := w.view(sent.physical); string(m.Body) != text {
				t.Errorf("view gave %q", m.Body)
			}
			w.commit(readers, topic, 0, 1)
			if n := w.committed(readers, topic, 0); n != 1 {
				t.Errorf("committed 1, read %d", n)
			}
		})
	}
}

// A request that lacks a required field is refused, and the refusal names the field: an empty result would be taken for
// the truth. What a server does not know, and nulls where a field may be absent, it passes over.
func TestMissingFieldsAreNamed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{command: "server"})
	w := dial(t, s.broker)
	w.createTopic("fields", 1)
	w.send(outgoing{topic: "fields", body: []byte("here"), props: properties(true, "KEYS", "k")})
	eventually(t, "the message in the index", func() bool { return len(w.query("fields", "k", 32)) == 1 })

	const refused = -1 // whatever code, but not success
	for _, row := range []struct {
		name   string
		code   int32
		fields string
		want   int32
		remark string
	}{
		{"query with the names of another version", protocol.QueryMessage,
			`{"topic":"fields","key":"k","maxNum":"32","begin":"0","end":"9999999999999"}`, refused, "beginTimestamp"},
		{"query without a key", protocol.QueryMessage,
			`{"topic":"fields","maxNum":"32","beginTimestamp":"0","endTimestamp":"9999999999999"}`, refused, "key"},
		{"query with a number that is none", protocol.QueryMessage,
			`{"topic":"fields","key":"k","maxNum":"many","beginTimestamp":"0","endTimestamp":"9999999999999"}`, refused, "maxNum"},
		{"send without a topic", protocol.SendMessageV2,
			`{"a":"g","c":"TBW102","d":"4","e":"0","f":"0","g":"1","h":"0"}`, refused, "topic"},
		{"send whose topic is null", protocol.SendMessageV2,
			`{"a":"g","b":null,"c":"TBW102","d":"4","e":"0","f":"0","g":"1","h":"0"}`, refused, "topic"},
		{"send with long names without a queue", protocol.SendMessage,
			`{"producerGroup":"g","topic":"fields","defaultTopic":"TBW102","defaultTopicQueueNums":"4","sysFlag":"0","bornTimestamp":"1","flag":"0"}`, refused, "queueId"},
		{"pull without a queue", protocol.PullMessage,
			`{"consumerGroup":"g","topic":"fields","queueOffset":"0","maxMsgNums":"1","sysFlag":"4","commitOffset":"0","suspendTimeoutMillis":"0","subVersion":"0","subscription":"*"}`, refused, "queueId"},
		{"end of a queue without a topic", protocol.GetMaxOffset, `{"queueId":"0"}`, refused, "topic"},
		{"no fields at all", protocol.GetMaxOffset, `null`, refused, "topic"},
		{"progress without a group", protocol.QueryConsumerOffset, `{"topic":"fields","queueId":"0"}`, refused, "consumerGroup"},
		{"nulls in optional fields", protocol.SendMessageV2,
			`{"a":"g","b":"fields","c":"TBW102","d":"4","e":"0","f":"0","g":"1","h":"0","i":null,"j":null,"k":null,"l":null,"m":null,"n":null}`, 0, ""},
		{"fields that nobody knows", protocol.GetMaxOffset, `{"topic":"fields","queueId":"0","colour":"red","x":null,"committed":"true"}`, 0, ""},
		{"values that are no texts", protocol.GetMaxOffset, `{"topic":"fields","queueId":0,"committed":true}`, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := dialRaw(t, s.broker)
			if _, err := r.Write(jsonFrame(row.code, 5, row.fields, "body")); err != nil {
				t.Fatal(err)
			}
			answer, err := r.read()
			if err != nil {
				t.Fatal(err)
			}
			if answer.Opaque != 5 {
				t.Errorf("opaque %d, want 5", answer.Opaque)
			}
			if (answer.Code == 0) != (row.want == 0) {
				t.Errorf("answered %d: %s", answer.Code, answer.Remark)
			}
			if !strings.Contains(answer.Remark, row.remark) {
				t.Errorf("the remark %q does not name %s", answer.Remark, row.remark)
			}
			if _, err := r.Write(jsonFrame(protocol.GetMaxOffset, 6, `{"topic":"fields","queueId":"0"}`, "")); err != nil {
				t.Fatal(err)
			}
			if answer, err = r.read(); err != nil || answer.Code != 0 {
				t.Errorf("the next request on the connection: %v, %v", answer, err)
			}
		})
	}
	if n := w.maxOffset("fields", 0); n != 2 {
		t.Errorf("the queue has %d messages, want the first one and the one with nulls", n)
	}
}
