// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package javajson

// skip goes over a value.
func (r *reader) skip() error { return r.walk(nil) }

// compact appends the text of a value to dst, in legal JSON apart from its keys and without blanks.
func (r *reader) compact(dst []byte) ([]byte, error) {
	dst = dst[:len(dst):len(dst)]
	err := r.walk(&dst)
	return dst, err
}

// walk goes over a value and writes it to out, unless that is nil.
func (r *reader) walk(out *[]byte) error {
	k, s, err := r.scalar()
	if err != nil {
		return err
	}
	switch {
	case k == list || k == object:
		return r.walkParts(k, out)
	case out == nil:
	case k == text:
		*out = appendString(*out, string(s), Bare)
	default:
		*out = append(*out, s...)
	}
	return nil
}

func (r *reader) walkParts(k kind, out *[]byte) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	open, end := byte('['), byte(']')
	if k == object {
		open, end = '{', '}'
	}
	put := func(c byte) {
		if out != nil {
			*out = append(*out, c)
		}
	}
	r.pos++
	put(open)
	for n := 0; ; n++ {
		if ok, err := r.more(end); err != nil {
			return err
		} else if !ok {
			put(end)
			return nil
		}
		if n > 0 {
			put(',')
		}
		if k == object {
			if err := r.walkKey(out); err != nil {
				return err
			}
			put(':')
		}
		if err := r.walk(out); err != nil {
			return err
		}
	}
}

// walkKey goes over a key and the colon behind it.
func (r *reader) walkKey(out *[]byte) error {
	bare := r.peek() != '"' && r.peek() != '\''
	if c := r.peek(); c == '{' || c == '[' {
		if err := r.walk(out); err != nil {
			return err
		}
		return r.colon()
	}
	key, err := r.key()
	if err != nil {
		return err
	}
	if out != nil && bare {
		*out = append(*out, key...)
	} else if out != nil {
		*out = appendString(*out, string(key), Bare)
	}
	return r.colon()
}
