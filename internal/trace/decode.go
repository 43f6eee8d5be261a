// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package trace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A body is records, each ended by 0x02, of fields joined by 0x01.
const (
	fieldEnd  = "\x01"
	recordEnd = "\x02"
)

// Decode reads a body. Records that cannot be read are left out and told by the error; those of kinds that are not known
// are left out.
func Decode(body string) ([]Event, error) {
	var events []Event
	var errs []error
	n := 0
	for text := range strings.SplitSeq(body, recordEnd) {
		if text == "" {
			continue
		}
		n++
		r := record{fields: strings.Split(text, fieldEnd)}
		read := readers[Kind(r.fields[0])]
		if read == nil {
			continue
		}
		e := Event{Kind: Kind(r.fields[0])}
		if read(&r, &e); r.err != nil {
			errs = append(errs, fmt.Errorf("trace record %d (%s): %w", n, e.Kind, r.err))
			continue
		}
		events = append(events, e)
	}
	return events, errors.Join(errs...)
}

var readers = map[Kind]func(*record, *Event){
	Pub: readPub, SubBefore: readSubBefore, SubAfter: readSubAfter, EndTransaction: readEndTransaction, Recall: readRecall,
}

// record reads fields by their place. Its first failure stays.
type record struct {
	fields []string
	err    error
}

// text gives a field that must be there. Java writes null for what is not set, Go for empty keys.
func (r *record) text(i int) string {
	if i >= len(r.fields) {
		if r.err == nil {
			r.err = fmt.Errorf("%d fields, no field %d", len(r.fields), i)
		}
		return ""
	}
	if r.fields[i] == "null" {
		return ""
	}
	return r.fields[i]
}

func (r *record) number(i int, bits int) int64 {
	text := r.text(i)
	if r.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		r.err = fmt.Errorf("field %d: %.40q is no number", i, text)
	}
	return n
}

func (r *record) truth(i int) bool { return strings.EqualFold(r.text(i), "true") }

// head reads what most kinds begin with.
func (r *record) head(e *Event) {
	e.Time, e.Region, e.Group = r.number(1, 64), r.text(2), r.text(3)
}

// readPub: type time region group topic id tags keys storeHost bytes cost type [offsetId] success [clientHost].
func readPub(r *record, e *Event) {
	r.head(e)
	e.Topic, e.MessageID, e.Tags, e.Keys, e.StoreHost = r.text(4), r.text(5), r.text(6), r.text(7), r.text(8)
	e.Bytes, e.Cost, e.Type = r.number(9, 64), r.number(10, 64), MessageType(r.number(11, 32))
	switch n := len(r.fields); {
	case n == 13:
		e.Success, e.HasSuccess = r.truth(12), true
	case n >= 14:
		e.OffsetID, e.Success, e.HasSuccess = r.text(12), r.truth(13), true
	}
	if len(r.fields) >= 15 {
		e.ClientHost = r.text(14)
	}
}

// readSubBefore: type time region group requestId id retries keys [clientHost].
func readSubBefore(r *record, e *Event) {
	r.head(e)
	e.RequestID, e.MessageID, e.Retries = r.text(4), r.text(5), int32(r.number(6, 32))
	if len(r.fields) >= 8 { // Java's reader loses empty ones at the end
		e.Keys = r.text(7)
	}
	if len(r.fields) >= 9 {
		e.ClientHost = r.text(8)
	}
}

// readSubAfter: type requestId id cost success keys [code [time [group]]].
func readSubAfter(r *record, e *Event) {
	e.RequestID, e.MessageID, e.Cost, e.Success, e.HasSuccess = r.text(1), r.text(2), r.number(3, 64), r.truth(4), true
	if len(r.fields) >= 6 {
		e.Keys = r.text(5)
	}
	if len(r.fields) >= 7 && r.fields[6] != "" { // of the CLOUD channel the code is the last, with an empty field behind it
		e.ReturnCode, e.HasCode = ReturnCode(r.number(6, 32)), true
	}
	if len(r.fields) >= 8 && r.fields[7] != "" {
		e.Time = r.number(7, 64)
	}
	if len(r.fields) >= 9 {
		e.Group = r.text(8)
	}
}

// readEndTransaction: type time region group topic id tags keys storeHost type transactionId state fromCheck.
func readEndTransaction(r *record, e *Event) {
	r.head(e)
	e.Topic, e.MessageID, e.Tags, e.Keys, e.StoreHost = r.text(4), r.text(5), r.text(6), r.text(7), r.text(8)
	e.Type, e.TransactionID, e.State, e.FromCheck = MessageType(r.number(9, 32)), r.text(10), r.text(11), r.truth(12)
}

// readRecall: type time region group topic id success.
func readRecall(r *record, e *Event) {
	r.head(e)
	e.Topic, e.MessageID, e.Success, e.HasSuccess = r.text(4), r.text(5), r.truth(6), true
}
