// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nametable

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Random operations against a plain map.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, model := New[int](), map[string]*int{}
		name := rapid.SampledFrom([]string{"", "a", "b", "%RETRY%a", "é", "topic@group"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n, v := name.Draw(t, "name"), new(int)
				if before := table.Put(n, v); before != model[n] {
					t.Fatalf("Put(%q) replaced %p, want %p", n, before, model[n])
				}
				model[n] = v
			},
			"get or put": func(t *rapid.T) {
				n, v := name.Draw(t, "name"), new(int)
				got, made := table.GetOrPut(n, func() *int { return v })
				if made != (model[n] == nil) {
					t.Fatalf("GetOrPut(%q) made: %v", n, made)
				}
				if made {
					model[n] = v
				}
				if got != model[n] {
					t.Fatalf("GetOrPut(%q) gives another value", n)
				}
			},
			"delete": func(t *rapid.T) {
				n := name.Draw(t, "name")
				if before := table.Delete(n); before != model[n] {
					t.Fatalf("Delete(%q) removed %p, want %p", n, before, model[n])
				}
				delete(model, n)
			},
			"": func(t *rapid.T) {
				if table.Len() != len(model) {
					t.Fatalf("%d names, want %d", table.Len(), len(model))
				}
				seen := map[string]*int{}
				table.Each(func(n string, v *int) bool {
					seen[n] = v
					return true
				})
				for n, v := range model {
					if table.Get(n) != v || table.GetBytes([]byte(n)) != v || seen[n] != v {
						t.Fatalf("%q has another value", n)
					}
				}
				if len(seen) != len(model) {
					t.Fatalf("Each met %d names, want %d", len(seen), len(model))
				}
			},
		})
	})
}

func TestLookUpsTakeNoMemory(t *testing.T) {
	table := New[int]()
	table.Put("Orders", new(int))
	text, name := "Orders", []byte("Orders")
	if n := testing.AllocsPerRun(100, func() {
		if table.Get(text) == nil || table.GetBytes(name) == nil {
			t.Fatal("lost")
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestGetOrPutMakesOnce(t *testing.T) {
	table := New[int]()
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := map[string]int{}
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				name := fmt.Sprint(i)
				table.GetOrPut(name, func() *int {
					mu.Lock()
					defer mu.Unlock()
					made[name]++
					return new(int)
				})
				table.Each(func(string, *int) bool { return false })
			}
		})
	}
	wg.Wait()
	if table.Len() != 500 || len(made) != 500 {
		t.Fatalf("%d names, made %d", table.Len(), len(made))
	}
	for name, n := range made {
		if n != 1 {
			t.Fatalf("%s was made %d times", name, n)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	for range b.N {
		table := New[int]()
		for i := range 20_000 {
			table.Put(fmt.Sprint("topic-", i), new(int))
		}
	}
}

func BenchmarkGetBytes(b *testing.B) {
	table := New[int]()
	for i := range 20_000 {
		table.Put(fmt.Sprint("topic-", i), new(int))
	}
	name := []byte("topic-777")
	for b.Loop() {
		if table.GetBytes(name) == nil {
			b.Fatal("lost")
		}
	}
}
