// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package trace

import (
	"strconv"
	"strings"
)

// Append writes an event as Java clients of 5.x do; a ClientHost is left out. The separators do not occur in what is
// written, and no field at the end is empty: Java's reader would lose the record.
func Append(dst []byte, e *Event) []byte {
	w := writer{dst: append(dst, e.Kind...)}
	switch e.Kind {
	case Pub:
		w.head(e)
		w.text(e.Topic, e.MessageID, e.Tags, e.Keys, e.StoreHost)
		w.number(e.Bytes, e.Cost, int64(e.Type))
		w.text(e.OffsetID)
		w.truth(e.Success)
	case SubBefore:
		w.head(e)
		w.text(e.RequestID, e.MessageID)
		w.number(int64(e.Retries))
		w.text(e.Keys)
	case SubAfter:
		w.text(e.RequestID, e.MessageID)
		w.number(e.Cost)
		w.truth(e.Success)
		w.text(e.Keys)
		w.number(int64(e.ReturnCode), e.Time)
		w.text(e.Group)
	case EndTransaction:
		w.head(e)
		w.text(e.Topic, e.MessageID, e.Tags, e.Keys, e.StoreHost)
		w.number(int64(e.Type))
		w.text(e.TransactionID, e.State)
		w.truth(e.FromCheck)
	case Recall:
		w.head(e)
		w.text(e.Topic, e.MessageID)
		w.truth(e.Success)
	}
	return append(w.dst, recordEnd...)
}

type writer struct{ dst []byte }

func (w *writer) head(e *Event) {
	w.number(e.Time)
	w.text(e.Region, e.Group)
}

// clean takes the separators out.
var clean = strings.NewReplacer(fieldEnd, " ", recordEnd, " ")

func (w *writer) text(texts ...string) {
	for _, text := range texts {
		if text == "" {
			text = "null" // as Java writes what is not there
		}
		w.dst = append(append(w.dst, fieldEnd...), clean.Replace(text)...)
	}
}

func (w *writer) number(numbers ...int64) {
	for _, n := range numbers {
		w.dst = strconv.AppendInt(append(w.dst, fieldEnd...), n, 10)
	}
}

func (w *writer) truth(b bool) { w.dst = strconv.AppendBool(append(w.dst, fieldEnd...), b) }
