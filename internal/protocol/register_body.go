// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zlib"

	"github.com/goddard-mq/goddard/internal/javajson"
)

// RegisterBrokerBody is the body of REGISTER_BROKER: a broker's topics. A nil FilterServerList leaves the known filter
// servers as they are, an empty one removes them.
type RegisterBrokerBody struct {
	FilterServerList []string           `json:"filterServerList"`
	Topics           TopicConfigWrapper `json:"topicConfigSerializeWrapper"`
}

// JSONDefaults sets what holds for keys that the JSON lacks.
func (b *RegisterBrokerBody) JSONDefaults() { *b = RegisterBrokerBody{FilterServerList: []string{}} }

// Bounds of a registration: its bytes once inflated, and its topics. Lines of topics may be so short, and deflate so well,
// that without the second a small request would take a gigabyte.
const (
	maxRegisterBytes  = 64 << 20
	maxRegisterTopics = 500_000
)

func tooManyTopics(n int) error {
	return fmt.Errorf("%d topics, at most %d are taken", n, maxRegisterTopics)
}

// DecodeRegisterBody reads the body of REGISTER_BROKER as the sender's version writes it: from V3_0_11 on a
// RegisterBrokerBody, before that the topics alone. An empty body means no topics, at data version zero.
//
// Brokers of 5.x compress on request without saying so in the header; a zlib stream is therefore recognized whatever
// compressed says, as no JSON begins like one.
func DecodeRegisterBody(body []byte, version int32, compressed bool) (*RegisterBrokerBody, error) {
	b := new(RegisterBrokerBody)
	b.JSONDefaults()
	if version < V3_0_11 {
		b.FilterServerList = nil
	}
	if len(body) == 0 {
		return b, nil
	}
	var err error
	switch {
	case version < V3_0_11:
		err = javajson.Unmarshal(body, &b.Topics)
	case compressed || isZlib(body):
		err = b.inflate(body, version)
	default:
		err = javajson.Unmarshal(body, b)
	}
	if err != nil {
		return nil, fmt.Errorf("body of the registration: %w", err)
	}
	if n := len(b.Topics.TopicConfigTable); n > maxRegisterTopics {
		return nil, fmt.Errorf("body of the registration: %w", tooManyTopics(n))
	}
	b.Topics.fillNames()
	return b, nil
}

// fillNames drops topics without settings and names those that their table alone names.
func (w *TopicConfigWrapper) fillNames() {
	for name, c := range w.TopicConfigTable {
		switch {
		case c == nil:
			delete(w.TopicConfigTable, name)
		case c.TopicName == "":
			c.TopicName = name
		}
	}
	for name, m := range w.TopicQueueMappingInfoMap {
		if m == nil {
			delete(w.TopicQueueMappingInfoMap, name)
		}
	}
}

// isZlib tells a zlib stream by its first two bytes (RFC 1950: deflate, and a check that is a multiple of 31).
func isZlib(b []byte) bool {
	return len(b) > 2 && b[0] == 0x78 && binary.BigEndian.Uint16(b)%31 == 0
}

// inflate reads the compressed form, a zlib stream of
//
//	int32 n, n bytes     data version, JSON
//	int32 topics
//	  int32 n, n bytes   each: name readQueues writeQueues perm filterType [attributes JSON], blanks between
//	int32 n, n bytes     filter servers, JSON list
//	int32 mappings       from V5_0_0 on
//	  int32 n, n bytes   each: TopicQueueMappingInfo, JSON
func (b *RegisterBrokerBody) inflate(body []byte, version int32) error {
	z, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("inflate: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxRegisterBytes+1))
	if err != nil {
		return fmt.Errorf("inflate: %w", err)
	}
	if len(plain) > maxRegisterBytes {
		return fmt.Errorf("inflates to more than %d bytes", maxRegisterBytes)
	}
	r := &pieces{rest: plain}
	if v := r.next(); r.err == nil {
		r.err = javajson.Unmarshal(v, &b.Topics.DataVersion)
	}
	b.Topics.TopicConfigTable = map[string]*TopicConfig{}
	topics := r.count()
	if topics > maxRegisterTopics {
		return tooManyTopics(topics)
	}
	for range topics {
		c, err := parseTopicLine(string(r.next()))
		if r.err != nil {
			break
		}
		if err != nil {
			return err
		}
		b.Topics.TopicConfigTable[c.TopicName] = c
	}
	if v := r.next(); r.err == nil {
		r.err = javajson.Unmarshal(v, &b.FilterServerList)
	}
	if version >= V5_0_0 {
		b.inflateMappings(r)
	}
	return r.err
}

func (b *RegisterBrokerBody) inflateMappings(r *pieces) {
	b.Topics.TopicQueueMappingInfoMap = map[string]*TopicQueueMappingInfo{}
	for range r.count() {
		m := new(TopicQueueMappingInfo)
		if v := r.next(); r.err == nil {
			r.err = javajson.Unmarshal(v, m)
		}
		if r.err != nil {
			return
		}
		b.Topics.TopicQueueMappingInfoMap[m.Topic] = m
	}
}

// pieces cuts length-prefixed pieces from rest; after an error it gives nothing more.
type pieces struct {
	rest []byte
	err  error
}

var errShortPieces = errors.New("ends in the middle of a piece")

func (p *pieces) int32() int {
	if p.err != nil {
		return 0
	}
	if len(p.rest) < 4 {
		p.err = errShortPieces
		return 0
	}
	n := int32(binary.BigEndian.Uint32(p.rest))
	p.rest = p.rest[4:]
	if n < 0 {
		p.err = fmt.Errorf("length %d", n)
		return 0
	}
	return int(n)
}

// count reads how many pieces follow. Each takes four bytes at least.
func (p *pieces) count() int {
	n := p.int32()
	if n > len(p.rest)/4 {
		p.err = errShortPieces
		return 0
	}
	return n
}

func (p *pieces) next() []byte {
	n := p.int32()
	if n > len(p.rest) {
		p.err = errShortPieces
	}
	if p.err != nil {
		return nil
	}
	piece := p.rest[:n]
	p.rest = p.rest[n:]
	return piece
}

// parseTopicLine reads what formatTopicLine writes (RocketMQ: TopicConfig.decode).
func parseTopicLine(line string) (*TopicConfig, error) {
	name, rest, _ := strings.Cut(line, " ")
	var words [4]string
	for i := range words {
		words[i], rest, _ = strings.Cut(rest, " ")
	}
	c := NewTopicConfig(name)
	for i, at := range []*int32{&c.ReadQueueNums, &c.WriteQueueNums, &c.Perm} {
		n, err := strconv.ParseInt(words[i], 10, 32)
		if err != nil || name == "" {
			return nil, fmt.Errorf("topic line %.100q is malformed", line)
		}
		*at = int32(n)
	}
	c.TopicFilterType = TopicFilterType(words[3])
	if rest != "" {
		var attributes map[string]string
		if err := javajson.Unmarshal([]byte(rest), &attributes); err == nil && attributes != nil {
			c.Attributes = attributes // name servers have no use for them: RocketMQ skips bad ones too
		}
	}
	return c, nil
}

func formatTopicLine(c *TopicConfig) string {
	line := fmt.Sprintf("%s %d %d %d %s", c.TopicName, c.ReadQueueNums, c.WriteQueueNums, c.Perm, c.TopicFilterType)
	if c.Attributes != nil {
		line += " " + string(javajson.Marshal(c.Attributes, javajson.Standard))
	}
	return line
}

// CompressRegisterBody writes the compressed form for a name server that is told this version by the request's header.
// Order and TopicSysFlag of topics are lost in it.
func CompressRegisterBody(b *RegisterBrokerBody, version int32) ([]byte, error) {
	var plain []byte
	piece := func(p []byte) {
		plain = binary.BigEndian.AppendUint32(plain, uint32(len(p)))
		plain = append(plain, p...)
	}
	piece(javajson.Marshal(&b.Topics.DataVersion, javajson.Bare))
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(b.Topics.TopicConfigTable)))
	for _, c := range b.Topics.TopicConfigTable {
		piece([]byte(formatTopicLine(c)))
	}
	servers := b.FilterServerList
	if servers == nil {
		servers = []string{}
	}
	piece(javajson.Marshal(servers, javajson.Bare))
	if version >= V5_0_0 {
		plain = binary.BigEndian.AppendUint32(plain, uint32(len(b.Topics.TopicQueueMappingInfoMap)))
		for _, m := range b.Topics.TopicQueueMappingInfoMap {
			piece(javajson.Marshal(m, javajson.Bare))
		}
	}
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(&out, zlib.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(plain); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
