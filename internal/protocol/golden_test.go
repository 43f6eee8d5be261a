// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// golden reads a file of testdata: what functions of RocketMQ gave for fixed inputs.
func golden[T any](t testing.TB, name string) T {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// wireBody is a JSON body seen on the wire: of a request (HEART_BEAT, REGISTER_BROKER) or an answer.
type wireBody struct {
	Code  int32
	From  string // client or server that wrote it
	Asker int32  // version of the client
	Body  string
}

func wireBodies(t testing.TB) []wireBody {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "wire_bodies.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []wireBody
	for s := bufio.NewScanner(f); s.Scan(); {
		var w wireBody
		if err := json.Unmarshal(s.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	if len(all) == 0 {
		t.Fatal("no bodies")
	}
	return all
}

// bodyOf makes an empty body of the type that travels with a code.
func bodyOf(t testing.TB, code int32) any {
	switch code {
	case protocol.HeartBeat:
		return new(protocol.HeartbeatData)
	case protocol.RegisterBroker:
		return new(protocol.RegisterBrokerBody)
	case protocol.GetRouteInfoByTopic:
		return new(protocol.TopicRouteData)
	case protocol.GetBrokerClusterInfo:
		return new(protocol.ClusterInfo)
	case protocol.GetAllTopicConfig:
		return new(protocol.TopicConfigWrapper)
	case protocol.GetAllSubscriptionGroupConfig:
		return new(protocol.SubscriptionGroupWrapper)
	case protocol.GetConsumerConnectionList:
		return new(protocol.ConsumerConnection)
	case protocol.GetProducerConnectionList:
		return new(protocol.ProducerConnection)
	}
	t.Fatalf("no body for code %d", code)
	return nil
}

// What Java 5.5.0 wrote is read and written again to the same bytes, but for the order of map
// entries (Java's is that of its hash tables) and the quoted keys of queue mappings.
func TestBodiesAreWhatJavaWrites(t *testing.T) {
	for _, w := range wireBodies(t) {
		t.Run(protocol.CodeName(w.Code)+" from "+w.From, func(t *testing.T) {
			v := bodyOf(t, w.Code)
			if err := javajson.Unmarshal([]byte(w.Body), v); err != nil {
				t.Fatal(err)
			}
			dialect := javajson.Bare
			if w.Code == protocol.GetRouteInfoByTopic && w.Asker >= protocol.V4_9_4 {
				dialect = javajson.Standard
			}
			got := javajson.Marshal(v, dialect)
			if w.From != "JAVA 5.5.0" { // older ones lack fields, so only what we write must be stable
				again := bodyOf(t, w.Code)
				if err := javajson.Unmarshal(got, again); err != nil {
					t.Fatal(err)
				}
				if second := javajson.Marshal(again, dialect); !bytes.Equal(got, second) {
					t.Errorf("written twice\n %s\n %s", got, second)
				}
				return
			}
			if got, want := sorted(string(got)), sorted(quoteMappings(w.Body)); got != want {
				t.Errorf("written again\n got %s\nwant %s", got, want)
			}
		})
	}
}

// Lenient reading goes through the whole 4.9 and 5.5 bodies; a stray key would vanish silently. Here
// nothing may be lost: the fields of old bodies come back with the same values.
func TestOldBodiesLoseNothing(t *testing.T) {
	for _, w := range wireBodies(t) {
		if w.From == "JAVA 5.5.0" {
			continue
		}
		v := bodyOf(t, w.Code)
		var before, after any
		if err := javajson.Unmarshal([]byte(w.Body), v); err != nil {
			t.Fatal(err)
		}
		if err := javajson.Unmarshal([]byte(w.Body), &before); err != nil {
			t.Fatal(err)
		}
		if err := javajson.Unmarshal(javajson.Marshal(v, javajson.Bare), &after); err != nil {
			t.Fatal(err)
		}
		if path := lost(before, after); path != "" {
			t.Errorf("%s: lost %s", protocol.CodeName(w.Code), path)
		}
	}
}

// lost names a value of before that after does not have, "" when there is none.
func lost(before, after any) string {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			return "an object"
		}
		for k := range b {
			if path := lost(b[k], a[k]); path != "" {
				return k + ": " + path
			}
		}
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) != len(b) {
			return "a list"
		}
		for i := range b {
			if path := lost(b[i], a[i]); path != "" {
				return path
			}
		}
	default:
		if before != after {
			return string(javajson.Marshal(before, javajson.Bare))
		}
	}
	return ""
}

var bareKey = regexp.MustCompile(`([{,])(\d+):`)

// quoteMappings gives the integer keys of queue mappings quotes: we write them so because fastjson 2
// cannot skip bare ones.
func quoteMappings(s string) string {
	out := ""
	for {
		at := regexp.MustCompile(`"(currIdMap|hostedQueues)":\{`).FindStringIndex(s)
		if at == nil {
			return out + s
		}
		end := at[1]
		for depth := 1; depth > 0; end++ {
			switch s[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
		out += s[:at[1]-1] + bareKey.ReplaceAllString(s[at[1]-1:end], `$1"$2":`)
		s = s[end:]
	}
}

// sorted orders the entries of all objects in a JSON text without blanks. It knows quotes and brackets only.
func sorted(s string) string {
	if len(s) < 2 || s[0] != '{' && s[0] != '[' {
		return s
	}
	var parts []string
	depth, start := 0, 1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				parts = append(parts, s[start:i])
			}
		case ',':
			if depth == 1 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	for i, p := range parts {
		at := 0
		if s[0] == '{' {
			at = valueStart(p)
		}
		parts[i] = p[:at] + sorted(p[at:])
	}
	if s[0] == '{' {
		slices.Sort(parts)
	}
	out := s[:1]
	for i, p := range parts {
		if i > 0 {
			out += ","
		}
		out += p
	}
	return out + s[len(s)-1:]
}

// valueStart finds where the value of an entry begins, behind its key and colon.
func valueStart(entry string) int {
	depth := 0
	for i := 0; i < len(entry); i++ {
		switch entry[i] {
		case '"':
			for i++; entry[i] != '"'; i++ {
				if entry[i] == '\\' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			depth--
		case ':':
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(entry)
}
