// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func TestCacheGivesTheSame(t *testing.T) {
	c := NewCache(2, 1000)
	first, err := c.Compile("a = 1")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.CompileBytes([]byte("a = 1")); again != first {
		t.Error("it was compiled again")
	}
	_, err = c.Compile("a =")
	if _, again := c.CompileBytes([]byte("a =")); err == nil || again != err {
		t.Errorf("the error was %v, then %v", err, again)
	}
	if n := testing.AllocsPerRun(100, func() { c.CompileBytes([]byte("a = 1")) }); n != 0 {
		t.Errorf("%v allocations for a known expression", n)
	}
}

// What is asked for all the time stays, what was asked for once goes, and there are never more than told.
func TestCacheIsBounded(t *testing.T) {
	const entries, bytes = 10, 400
	c := NewCache(entries, bytes)
	always, _ := c.Compile("always = 1")
	once, _ := c.Compile("once = 1")
	for i := range 1000 {
		if i%3 == 0 {
			if again, _ := c.CompileBytes([]byte("always = 1")); again != always {
				t.Fatalf("forgotten after %d others", i)
			}
		}
		source := fmt.Sprintf("a = %d", i)
		if i%7 == 0 {
			source += strings.Repeat(" ", 300)
		}
		if _, err := c.Compile(source); err != nil {
			t.Fatal(err)
		}
		for _, generation := range []map[string]outcome{c.young, c.old} {
			size := 0
			for source := range generation {
				size += len(source)
			}
			if len(generation) > entries || size > bytes {
				t.Fatalf("%d entries of %d bytes", len(generation), size)
			}
		}
	}
	if again, _ := c.Compile("once = 1"); again == once {
		t.Error("what was asked for once is still there")
	}
	long := "a = 1" + strings.Repeat(" ", bytes)
	e, err := c.Compile(long)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.Compile(long); again == e {
		t.Error("an expression that is too long was kept")
	}
}

func TestCacheFromManySides(t *testing.T) {
	c := NewCache(8, 1000)
	var running sync.WaitGroup
	for g := range 8 {
		running.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 2000 {
				n := r.IntN(20)
				e, err := c.CompileBytes(fmt.Appendf(nil, "a = %d", n))
				if err != nil || !e.Match(fmt.Appendf(nil, "a\x01%d\x02", n)) {
					t.Errorf("%d: %v %v", n, e, err)
					return
				}
			}
		})
	}
	running.Wait()
}
