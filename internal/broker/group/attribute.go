// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// attributeKeys a group may have (RocketMQ: SubscriptionGroupAttributes, of 5.5).
// Nothing here acts on them: they are kept for those who ask.
var attributeKeys = []string{"lite.bind.topic", "lite.sub.wildcard", "lite.sub.client.quota", "lite.sub.model", "lite.sub.reset.offset.exclusive", "lite.sub.reset.offset.unsubscribe", "priority.factor"}

// applyAttributes gives a group's attributes after the changes that came with its new
// settings: "+key" sets, "-key" takes away, none of the two stands for a value as it
// is in a file.
func applyAttributes(before *Config, changes map[string]string) (map[string]string, error) {
	after := map[string]string{}
	if before != nil {
		maps.Copy(after, before.Attributes)
	}
	for _, change := range slices.Sorted(maps.Keys(changes)) {
		key := strings.TrimLeft(change, "+-")
		if !slices.Contains(attributeKeys, key) {
			return nil, fmt.Errorf("unsupported key: %s", key)
		}
		if _, known := after[key]; strings.HasPrefix(change, "-") {
			switch {
			case before == nil:
				return nil, fmt.Errorf("only add attribute is supported while creating topic. key: %s", key)
			case !known:
				return nil, fmt.Errorf("attempt to delete a nonexistent key: %s", key)
			}
			delete(after, key)
			continue
		}
		after[key] = changes[change]
	}
	return after, nil
}
