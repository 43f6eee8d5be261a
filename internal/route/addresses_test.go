// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package route

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseAddresses(t *testing.T) {
	for _, test := range []struct {
		situation string
		texts     []string
		want      Addresses
		err       string // part of the error
	}{
		{"one", []string{"127.0.0.1:9876"}, Addresses{Fixed: []string{"127.0.0.1:9876"}}, ""},
		{"semicolons as in Java, one at the end", []string{"a:1;b:2;"}, Addresses{Fixed: []string{"a:1", "b:2"}}, ""},
		{"commas and blanks", []string{" a:1 , b:2\n"}, Addresses{Fixed: []string{"a:1", "b:2"}}, ""},
		{"several texts", []string{"a:1", "b:2;a:1"}, Addresses{Fixed: []string{"a:1", "b:2"}}, ""},
		{"no port", []string{"mq.example.org"}, Addresses{Fixed: []string{"mq.example.org:9876"}}, ""},
		{"IPv6", []string{"[::1]:1;::1;[fe80::2]"}, Addresses{Fixed: []string{"[::1]:1", "[::1]:9876", "[fe80::2]:9876"}}, ""},
		{"IPv6 with a zone", []string{"[fe80::1%eth0]:1;fe80::1%eth0"}, Addresses{Fixed: []string{"[fe80::1%eth0]:1", "[fe80::1%eth0]:9876"}}, ""},
		{"half a bracket", []string{"[::1"}, Addresses{}, `"[::1" is not an address`},
		{"a list service beside an address", []string{"http://h/rocketmq/nsaddr;a:1"},
			Addresses{Fixed: []string{"a:1"}, Lists: []string{"http://h/rocketmq/nsaddr"}}, ""},
		{"nothing", []string{"", " ;, "}, Addresses{}, "no name server given"},
		{"a port that is none", []string{"a:1;b:http"}, Addresses{}, `"b:http" has no valid port`},
		{"port zero", []string{"a:0"}, Addresses{}, `"a:0" has no valid port`},
		{"port too large", []string{"a:65536"}, Addresses{}, `"a:65536" has no valid port`},
		{"no host", []string{":9876"}, Addresses{}, `":9876" is not an address`},
		{"a path", []string{"a/b:9876"}, Addresses{}, `"a/b:9876" is not an address`},
		{"too many colons", []string{"a:1:2"}, Addresses{}, `"a:1:2" is not an address`},
		{"another protocol", []string{"tcp://a:1"}, Addresses{}, `"tcp://a:1" is not an http address`},
	} {
		t.Run(test.situation, func(t *testing.T) {
			got, err := ParseAddresses(test.texts...)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseAddresses(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:9876;b", "[::1]:1", "http://h/p", "%zz:1", "a:1;;,", "[:9876"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddresses(text)
		if err != nil {
			return
		}
		again, err := ParseAddresses(append(a.Fixed, a.Lists...)...)
		if err != nil {
			t.Fatalf("%q was read as %v, which is refused: %v", text, a, err)
		}
		if diff := cmp.Diff(a, again); diff != "" {
			t.Errorf("%q is not read the same again (-first +again):\n%s", text, diff)
		}
	})
}
