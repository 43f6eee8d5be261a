// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Attributes of topics.
const (
	attrQueueType     = "queue.type"
	attrCleanupPolicy = "cleanup.policy"
	attrMessageType   = "message.type"
	attrReserveTime   = "reserve.time"
	attrLiteExpiry    = "lite.topic.expiration"
)

// attributeKind says what an attribute may be.
type attributeKind struct {
	fallback   string
	values     []string // allowed, in the order in which RocketMQ quotes them; nil: a number
	low        int64    // smallest number allowed
	changeable bool     // after the topic was created
}

// attributes by key (RocketMQ: TopicAttributes).
var attributes = map[string]attributeKind{
	attrQueueType:     {fallback: string(SimpleQueue), values: []string{string(SimpleQueue), string(BatchQueue)}},
	attrCleanupPolicy: {fallback: string(Delete), values: []string{string(Delete), string(Compaction)}},
	attrMessageType: {
		fallback: string(Normal), changeable: true,
		values: []string{
			string(Unspecified), string(Mixed), string(Transaction), string(Priority),
			string(FIFO), string(Delay), string(Lite), string(Normal),
		},
	},
	attrReserveTime: {fallback: "-1", low: -1, changeable: true}, // hours; -1 and 0: the broker's fileReservedTime
	attrLiteExpiry:  {fallback: "-1", low: -1, changeable: true}, // minutes
}

func (k attributeKind) check(value string) error {
	if k.values != nil {
		if !slices.Contains(k.values, value) {
			return fmt.Errorf("value is not in set: [%s]", strings.Join(k.values, ", "))
		}
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fmt.Errorf("value is not a number: %q", value)
	}
	if n < k.low {
		return fmt.Errorf("value is not in range(%d, %d)", k.low, int64(math.MaxInt64))
	}
	return nil
}

// Changes of a topic's attributes: "+key" gives a key a value, "-key" (with no value)
// takes a key away.
type Changes map[string]string

// ParseChanges reads "+key=value,-key" (RocketMQ: AttributeParser.parseToMap).
func ParseChanges(text string) (Changes, error) {
	changes := Changes{}
	if text == "" {
		return changes, nil
	}
	for piece := range strings.SplitSeq(text, ",") {
		key, value, set := strings.Cut(piece, "=")
		switch {
		case set && (!strings.HasPrefix(key, "+") || value == ""):
			return nil, fmt.Errorf("add/alter attribute format is wrong: %s", key)
		case !set && !strings.HasPrefix(key, "-"):
			return nil, fmt.Errorf("delete attribute format is wrong: %s", key)
		}
		if _, twice := changes[key]; twice {
			return nil, fmt.Errorf("key duplication: %s", key)
		}
		changes[key] = value
	}
	return changes, nil
}

// apply gives the attributes after the changes, or says which change may not be; before
// is not touched. A topic that is created may only set (RocketMQ: AttributeUtil).
func (c Changes) apply(before map[string]string, create bool) (map[string]string, error) {
	after := maps.Clone(before)
	if after == nil {
		after = map[string]string{}
	}
	for _, change := range slices.Sorted(maps.Keys(c)) { // sorted: the same fault each time
		if len(change) < 2 {
			return nil, errors.New("kv string format wrong.")
		}
		sign, key := change[0], change[1:]
		_, known := before[key]
		switch {
		case c.has('+', key) && c.has('-', key):
			return nil, fmt.Errorf("key duplication: %s", key)
		case create && sign != '+':
			return nil, fmt.Errorf("only add attribute is supported while creating topic. key: %s", key)
		case sign != '+' && sign != '-':
			return nil, fmt.Errorf("wrong format key: %s", key)
		case sign == '-' && !known:
			return nil, fmt.Errorf("attempt to delete a nonexistent key: %s", key)
		}
		kind, ok := attributes[key]
		switch {
		case !ok:
			return nil, fmt.Errorf("unsupported key: %s", key)
		case !create && !kind.changeable:
			return nil, fmt.Errorf("attempt to update an unchangeable attribute. key: %s", key)
		case sign == '-':
			delete(after, key)
			continue
		}
		if err := kind.check(c[change]); err != nil {
			return nil, err
		}
		after[key] = c[change]
	}
	return after, nil
}

func (c Changes) has(sign byte, key string) bool {
	_, ok := c[string(sign)+key]
	return ok
}

// setsMixed tells whether the topic is to become one for messages of all types.
func (c Changes) setsMixed() bool { return c["+"+attrMessageType] == string(Mixed) }
