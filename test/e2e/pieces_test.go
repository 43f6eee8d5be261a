// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// Connections that dribble, that put several frames into one segment and that break off in the middle of a frame, all
// at once: each body is stored as it was sent, each answer goes to its request, and of the broken frames nothing is left.
func TestFramesSplitJoinedAndBrokenOff(t *testing.T) {
	t.Parallel()
	const queues = 4
	s := start(t, setup{set: []string{"flushDiskType=ASYNC_FLUSH"}})
	w := dial(t, s.broker)
	w.createTopic("pieces", queues)

	p := &pieces{addr: s.broker, acknowledged: map[string]stored{}}
	var wait sync.WaitGroup
	for i := range 6 {
		wait.Go(func() { p.report(t, p.dribble(t, fmt.Sprintf("dribble-%d", i), 20)) })
	}
	for i := range 8 {
		wait.Go(func() { p.report(t, p.joined(t, fmt.Sprintf("joined-%d", i), 80, 3)) })
	}
	for i := range 4 {
		wait.Go(func() { p.report(t, p.brokenOff(t, fmt.Sprintf("broken-%d", i), 40)) })
	}
	wait.Wait()

	seen := 0
	for queue := range int32(queues) {
		for _, m := range w.read("pieces", queue) {
			name := property(&m, "name")
			if got := digest(m.Body); got != property(&m, "sha256") {
				t.Errorf("%s: the body of %d bytes hashes to %s, sent was %s", name, len(m.Body), got, property(&m, "sha256"))
			}
			want, known := p.acknowledged[name]
			if !known || want.queue != queue || want.offset != m.QueueOffset {
				t.Errorf("%s lies in queue %d at %d, acknowledged was %v, %v", name, queue, m.QueueOffset, want, known)
			}
			seen++
		}
	}
	if seen != len(p.acknowledged) {
		t.Errorf("%d messages stored, %d acknowledged", seen, len(p.acknowledged))
	}
}

// pieces sends messages in odd ways and remembers which were acknowledged.
type pieces struct {
	addr string

	mu           sync.Mutex
	acknowledged map[string]stored
}

func (p *pieces) report(t *testing.T, err error) {
	if err != nil {
		t.Error(err)
	}
}

// message makes the frame of a message with a random body of so many bytes at most.
func (p *pieces) message(t *testing.T, name string, opaque int32, most int) []byte {
	body := make([]byte, 1+rand.IntN(most))
	for i := range body {
		body[i] = byte(rand.Uint32())
	}
	f := []form{remoting.JSON, remoting.Binary}[rand.IntN(2)]
	return frame(t, f, opaque, outgoing{
		topic: "pieces", queue: rand.Int32N(4), body: body, props: properties(true, "name", name, "sha256", digest(body)),
	}.command())
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// take reads as many answers as there are names; names[i] has the opaque i.
func (p *pieces) take(r raw, names []string) error {
	left := slices.Clone(names)
	for range names {
		answer, err := r.read()
		if err != nil {
			return err
		}
		at := int(answer.Opaque)
		if at < 0 || at >= len(left) || left[at] == "" {
			return fmt.Errorf("an answer to request %d, which was not sent or has one", at)
		}
		s, err := storedOf(answer)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.acknowledged[left[at]] = s
		p.mu.Unlock()
		left[at] = ""
	}
	return nil
}

// dribble writes messages byte by byte.
func (p *pieces) dribble(t *testing.T, sender string, count int) error {
	r, err := tryDialRaw(p.addr)
	if err != nil {
		return err
	}
	defer r.abort()
	for i := range count {
		name := fmt.Sprintf("%s-%d", sender, i)
		data := p.message(t, name, 0, 1500)
		for at := range data {
			if _, err := r.Write(data[at : at+1]); err != nil {
				return err
			}
		}
		if err := p.take(r, []string{name}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// joined writes so many messages at once.
func (p *pieces) joined(t *testing.T, sender string, rounds, together int) error {
	r, err := tryDialRaw(p.addr)
	if err != nil {
		return err
	}
	defer r.abort()
	for i := range rounds {
		var data []byte
		var names []string
		for n := range together {
			names = append(names, fmt.Sprintf("%s-%d-%d", sender, i, n))
			data = append(data, p.message(t, names[n], int32(n), 64<<10)...)
		}
		if _, err := r.Write(data); err != nil {
			return err
		}
		if err := p.take(r, names); err != nil {
			return fmt.Errorf("%s: %w", names[0], err)
		}
	}
	return nil
}

// brokenOff writes a whole message and a part of another, and closes the connection: in order or with a reset.
func (p *pieces) brokenOff(t *testing.T, sender string, rounds int) error {
	for i := range rounds {
		r, err := tryDialRaw(p.addr)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%d", sender, i)
		half := p.message(t, "never", 1, 64<<10)
		data := append(p.message(t, name, 0, 4<<10), half[:1+rand.IntN(len(half)-1)]...)
		_, err = r.Write(data)
		err = errors.Join(err, p.take(r, []string{name}))
		if i%2 == 0 {
			r.abort()
		} else {
			_ = r.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
