// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package delay

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// The table in testdata is what RocketMQ 5.5.0 made of each text.
func TestParseLevelsAsJavaDoes(t *testing.T) {
	data, err := os.ReadFile("testdata/delay_levels.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Levels string
		Parsed struct {
			OK    bool
			Max   int
			Table map[int]int64 // ms
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		got, err := ParseLevels(c.Levels)
		wantOK := c.Parsed.OK && !strings.Contains(c.Levels, "-") // negative delays are refused here
		if (err == nil) != wantOK {
			t.Errorf("%q: error %v, Java took it: %v", c.Levels, err, c.Parsed.OK)
			continue
		}
		if err != nil {
			continue
		}
		if got.Max() != c.Parsed.Max {
			t.Errorf("%q: %d levels, want %d", c.Levels, got.Max(), c.Parsed.Max)
		}
		for level, ms := range c.Parsed.Table {
			if got.Delay(level) != time.Duration(ms)*time.Millisecond {
				t.Errorf("%q: level %d is %v, want %d ms", c.Levels, level, got.Delay(level), ms)
			}
		}
	}
}

func TestLevelsOutsideTheTable(t *testing.T) {
	levels, err := ParseLevels("1s 5s")
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[int]int{1: 1, 2: 2, 3: 2, 100: 2} {
		if got := levels.Clamp(level); got != want {
			t.Errorf("level %d becomes %d, want %d", level, got, want)
		}
	}
	for _, level := range []int{-1, 0, 3} {
		if d := levels.Delay(level); d != 0 {
			t.Errorf("level %d has a delay of %v", level, d)
		}
	}
}
