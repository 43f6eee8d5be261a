// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package delay

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// DefaultLevels is the table of levels that RocketMQ has.
const DefaultLevels = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

// Levels are the delays by level; level 1 comes first. Changing them does not move messages that wait already.
type Levels []time.Duration

// ParseLevels reads a table such as "1s 5s 2h": whole numbers with a unit (s, m, h, d), one blank between.
func ParseLevels(text string) (Levels, error) {
	if text == "" {
		return nil, errors.New("want delays such as 1s 30s 5m 2h")
	}
	var levels Levels
	for i, part := range strings.Split(text, " ") {
		d, err := parseDelay(part)
		if err != nil {
			return nil, fmt.Errorf("level %d: %w", i+1, err)
		}
		levels = append(levels, d)
	}
	return levels, nil
}

var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

func parseDelay(text string) (time.Duration, error) {
	if len(text) < 2 {
		return 0, fmt.Errorf("%q: want a number and one of s, m, h, d", text)
	}
	unit, ok := units[text[len(text)-1]]
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q: want a number and one of s, m, h, d", text)
	}
	if n > math.MaxInt64/int64(unit) || n < 0 {
		return 0, fmt.Errorf("%q: out of range", text)
	}
	return time.Duration(n) * unit, nil
}

// Max is the highest level.
func (l Levels) Max() int { return len(l) }

// Clamp gives the level that a wanted one means: those above the highest are the highest.
func (l Levels) Clamp(level int) int { return min(level, len(l)) }

// Delay of a level; 0 for one that does not exist.
func (l Levels) Delay(level int) time.Duration {
	if level < 1 || level > len(l) {
		return 0
	}
	return l[level-1]
}
