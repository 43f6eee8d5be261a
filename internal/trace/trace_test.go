// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package trace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// line writes "a|b|c;d|e" with the separators of a body.
func line(text string) string {
	return strings.NewReplacer("|", fieldEnd, ";", recordEnd).Replace(text)
}

func TestDecode(t *testing.T) {
	pub := Event{
		Kind: Pub, Time: 5, Region: "R", Group: "PG", Topic: "T", MessageID: "ID", Tags: "A", Keys: "k1 k2", StoreHost: "h:1",
		Bytes: 7, Cost: 3, Type: Delay, OffsetID: "OID", Success: true, HasSuccess: true,
	}
	with := func(e Event, change func(*Event)) Event { change(&e); return e }
	before := Event{Kind: SubBefore, Time: 5, Region: "R", Group: "CG", RequestID: "RQ", MessageID: "ID", Retries: 2, Keys: "k"}
	after := Event{
		Kind: SubAfter, Time: 9, Group: "CG", RequestID: "RQ", MessageID: "ID", Cost: 4, Success: false, HasSuccess: true, Keys: "k",
		ReturnCode: Failed, HasCode: true,
	}
	for _, test := range []struct {
		situation, body string
		want            []Event
		err             string
	}{
		{"nothing", "", nil, ""},
		{"a message sent", "Pub|5|R|PG|T|ID|A|k1 k2|h:1|7|3|3|OID|true;", []Event{pub}, ""},
		{"by a Go client", "Pub|5|R|PG|T|ID|A|k1 k2|h:1|7|3|3|OID|true|c:2;", []Event{with(pub, func(e *Event) { e.ClientHost = "c:2" })}, ""},
		{"by the oldest clients, without an offset id", "Pub|5|R|PG|T|ID|A|k1 k2|h:1|7|3|3|true;", []Event{with(pub, func(e *Event) { e.OffsetID = "" })}, ""},
		{"without an outcome", "Pub|5|R|PG|T|ID|A|k1 k2|h:1|7|3|3;", []Event{with(pub, func(e *Event) { e.OffsetID, e.Success, e.HasSuccess = "", false, false })}, ""},
		{"that failed, without tags and keys", "Pub|5|R|PG|T|ID|null|null|h:1|7|3|0|null|false;",
			[]Event{with(pub, func(e *Event) { e.Tags, e.Keys, e.Type, e.OffsetID, e.Success = "", "", Normal, "", false })}, ""},
		{"consumed", "SubBefore|5|R|CG|RQ|ID|2|k;SubAfter|RQ|ID|4|false|k|4|9|CG;", []Event{before, after}, ""},
		{"consumed by a Go client", "SubBefore|5|R|CG|RQ|ID|2|k|c:2;", []Event{with(before, func(e *Event) { e.ClientHost = "c:2" })}, ""},
		{"consumed, with no keys at the end", "SubBefore|5|R|CG|RQ|ID|2|;SubBefore|5|R|CG|RQ|ID|2;",
			[]Event{with(before, func(e *Event) { e.Keys = "" }), with(before, func(e *Event) { e.Keys = "" })}, ""},
		{"consumed, told by 4.5", "SubAfter|RQ|ID|4|false|k|4|9;", []Event{with(after, func(e *Event) { e.Group = "" })}, ""},
		{"consumed, told by 4.4", "SubAfter|RQ|ID|4|false|k|4;", []Event{with(after, func(e *Event) { e.Group, e.Time = "", 0 })}, ""},
		{"consumed, told by the CLOUD channel", "SubAfter|RQ|ID|4|false|k|4|;", []Event{with(after, func(e *Event) { e.Group, e.Time = "", 0 })}, ""},
		{"consumed, told without a code", "SubAfter|RQ|ID|4|true|k;",
			[]Event{with(after, func(e *Event) { e.Group, e.Time, e.Success, e.ReturnCode, e.HasCode = "", 0, true, 0, false })}, ""},
		{"a transaction's end", "EndTransaction|5|R|PG|T|ID|A|k|h:1|2|TX|COMMIT_MESSAGE|true;", []Event{{
			Kind: EndTransaction, Time: 5, Region: "R", Group: "PG", Topic: "T", MessageID: "ID", Tags: "A", Keys: "k", StoreHost: "h:1",
			Type: Transaction, TransactionID: "TX", State: "COMMIT_MESSAGE", FromCheck: true,
		}}, ""},
		{"called back", "Recall|5|R|PG|T|ID|true;", []Event{{
			Kind: Recall, Time: 5, Region: "R", Group: "PG", Topic: "T", MessageID: "ID", Success: true, HasSuccess: true,
		}}, ""},
		{"a kind that is not known", "Dream|5;Pub|5|R|PG|T|ID|A|k1 k2|h:1|7|3|3|OID|true;", []Event{pub}, ""},
		{"cut off", "Pub|5|R|PG|T|ID|A|k1 k2|h:1|7|3|3|OID|true;Pub|5|R|P", []Event{pub}, "trace record 2 (Pub): 4 fields, no field 4"},
		{"no number", "Pub|x|R|PG|T|ID|A|k1 k2|h:1|7|3|3|OID|true;SubBefore|5|R|CG|RQ|ID|2|k;", []Event{before}, `trace record 1 (Pub): field 1: "x" is no number`},
		{"a number that is too large", "SubBefore|5|R|CG|RQ|ID|99999999999|k;", nil, "field 6"},
	} {
		got, err := Decode(line(test.body))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.situation, diff)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", test.situation, err, test.err)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, body := range []string{
		"Pub|5|R|PG|T|ID|A|k1 k2|h:1|7|3|3|OID|true;",
		"Pub|5|R|PG|T|ID|null|null|h:1|7|3|0|null|false;",
		"SubBefore|5|R|CG|RQ|ID|2|k;",
		"SubBefore|5|R|CG|RQ|ID|2|null;",
		"SubAfter|RQ|ID|4|false|k|4|9|CG;",
		"EndTransaction|5|R|PG|T|ID|A|k|h:1|2|TX|COMMIT_MESSAGE|true;",
		"Recall|5|R|PG|T|ID|true;",
	} {
		events, err := Decode(line(body))
		if err != nil || len(events) != 1 {
			t.Fatalf("%s: %v, %v", body, events, err)
		}
		if got := string(Append(nil, &events[0])); got != line(body) {
			t.Errorf("%q, want %q", got, line(body))
		}
	}
	odd := Event{Kind: Recall, Group: "a\x01b\x02c", MessageID: "ID"}
	if events, err := Decode(string(Append(nil, &odd))); err != nil || len(events) != 1 || events[0].Group != "a b c" || events[0].MessageID != "ID" {
		t.Errorf("separators in a field: %+v, %v", events, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		"Pub|5|R|PG|T|ID|A|k1 k2|h:1|7|3|3|OID|true|c:2;SubBefore|5|R|CG|RQ|ID|2|k;", "SubAfter|RQ|ID|4|false|k|4|9|CG;SubAfter|||;",
		"EndTransaction|5|R|PG|T|ID|A|k|h:1|2|TX|COMMIT_MESSAGE|true;Recall|5|R|PG|T|ID|true;", ";;|;Pub;",
	} {
		f.Add(line(body))
	}
	f.Fuzz(func(t *testing.T, body string) {
		events, _ := Decode(body)
		if len(events) > strings.Count(body, recordEnd)+1 {
			t.Errorf("%d events", len(events))
		}
		for _, e := range events { // what was read can be written and read again
			e.ClientHost = ""
			again, err := Decode(string(Append(nil, &e)))
			if err != nil || len(again) != 1 {
				t.Fatalf("%+v: %v, %v", e, again, err)
			}
			if again[0].MessageID != e.MessageID || again[0].Kind != e.Kind || again[0].Group != e.Group || again[0].Cost != e.Cost {
				t.Errorf("%+v became %+v", e, again[0])
			}
		}
	})
}
