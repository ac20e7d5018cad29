/** The encoding of a file, from its bytes. */
import t from 'tap'
import { detectEncoding } from '../../../../src/base/platform/csv/encoding.js'

t.test('the encoding is found by the mark, or by the characters', async (t) => {
  const cases: readonly [string, Buffer][] = [
    ['utf-8', Buffer.from('')],
    ['utf-8', Buffer.from('plain')],
    ['utf-8', Buffer.from('\ufeffJörg')],
    ['utf-8', Buffer.from('Łódź 🦊')],
    ['utf-16le', Buffer.from('\ufeffJörg', 'utf16le')],
    ['utf-16be', Buffer.from('\ufeffJörg', 'utf16le').swap16()],
    ['windows-1252', Buffer.from('Jörg', 'latin1')],
    ['windows-1252', Buffer.from([0x41, 0x20, 0x80, 0x93])],
    ['utf-8', Buffer.concat([Buffer.from('\ufeffa,'), Buffer.from([0x4a, 0xf6, 0x72, 0x67])])],
    ['utf-8', Buffer.concat([Buffer.from('Jörg, Käthe, '), Buffer.from([0xe9])])],
  ]
  for (const [encoding, bytes] of cases) t.equal(await detectEncoding(bytes), encoding, bytes.toString('latin1'))
})

t.test('a character that lies over the end of a step is whole', async (t) => {
  for (const pad of [65_535, 65_534, 65_533]) {
    t.equal(await detectEncoding(Buffer.from(`${'a'.repeat(pad)}🦊ö`)), 'utf-8', String(pad))
  }
})
