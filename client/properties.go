// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
)

// Properties that only clients write or read.
const (
	propShardingKey    = "__SHARDINGKEY"
	propDeliverAt      = "TIMER_DELIVER_MS"
	propReconsume      = "RECONSUME_TIME"
	propMaxReconsume   = "MAX_RECONSUME_TIMES"
	propertySeparators = "\x01\x02"
)

// checkProperties says what is wrong with an application's keys, tag and properties.
func checkProperties(m *Message) error {
	for _, key := range m.Keys {
		if key == "" || strings.ContainsAny(key, " "+propertySeparators) {
			return fmt.Errorf("key %q is empty or contains a blank: keys are separated by blanks", key)
		}
	}
	if strings.Contains(m.Tag, "||") || strings.ContainsAny(m.Tag, propertySeparators) || strings.TrimSpace(m.Tag) != m.Tag {
		return fmt.Errorf("tag %q contains two bars or begins or ends with a blank: no filter can name it", m.Tag)
	}
	if strings.ContainsAny(m.ShardingKey, propertySeparators) {
		return fmt.Errorf("sharding key %q contains a separator", m.ShardingKey)
	}
	for name, value := range m.Properties {
		switch {
		case strings.TrimSpace(name) == "" || strings.TrimSpace(value) == "":
			return fmt.Errorf("property %q=%q: neither name nor value may be blank", name, value)
		case strings.ContainsAny(name+value, propertySeparators):
			return fmt.Errorf("property %q contains a separator", name)
		case message.IsReserved(name):
			return fmt.Errorf("property %q is used by the system: choose another name", name)
		}
	}
	return nil
}

// appendProperties encodes what m says beside its body, with the given unique id.
func appendProperties(dst []byte, m *Message, id string) []byte {
	for _, name := range slices.Sorted(maps.Keys(m.Properties)) {
		dst = message.AppendProperty(dst, name, m.Properties[name])
	}
	if len(m.Keys) > 0 {
		dst = message.AppendProperty(dst, message.PropKeys, strings.Join(m.Keys, " "))
	}
	if m.Tag != "" {
		dst = message.AppendProperty(dst, message.PropTags, m.Tag)
	}
	if m.ShardingKey != "" {
		dst = message.AppendProperty(dst, propShardingKey, m.ShardingKey)
	}
	if m.DelayLevel > 0 {
		dst = message.AppendProperty(dst, message.PropDelay, strconv.Itoa(m.DelayLevel))
	}
	if !m.DeliverAt.IsZero() {
		dst = message.AppendProperty(dst, propDeliverAt, strconv.FormatInt(m.DeliverAt.UnixMilli(), 10))
	}
	dst = message.AppendProperty(dst, message.PropUniqueKey, id)
	return message.AppendProperty(dst, message.PropWait, strconv.FormatBool(!m.NoWait))
}

// readProperties fills in what the properties of a received message say.
func readProperties(r *Received, text []byte) {
	message.EachProperty(text, func(nameBytes, valueBytes []byte) bool {
		name, value := string(nameBytes), string(valueBytes)
		if !message.IsReserved(name) {
			if r.Properties == nil {
				r.Properties = map[string]string{}
			}
			r.Properties[name] = value
			return true
		}
		if r.System == nil {
			r.System = map[string]string{}
		}
		r.System[name] = value
		switch name {
		case message.PropKeys:
			r.Keys = strings.Fields(value)
		case message.PropTags:
			r.Tag = value
		case propShardingKey:
			r.ShardingKey = value
		case message.PropDelay:
			r.DelayLevel, _ = strconv.Atoi(value)
		case propDeliverAt:
			if ms, err := strconv.ParseInt(value, 10, 64); err == nil {
				r.DeliverAt = time.UnixMilli(ms)
			}
		case message.PropWait:
			r.NoWait = value == "false"
		case message.PropUniqueKey:
			r.ID = value
		}
		return true
	})
}
