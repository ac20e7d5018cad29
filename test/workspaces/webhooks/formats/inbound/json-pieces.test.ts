/** Large texts and bytes as JSON, in pieces that join to what one call would make. */
import fc from 'fast-check'
import t from 'tap'
import { encodeBase64, encodeUtf8 } from '../../../../../src/workspaces/webhooks/formats/inbound/json-pieces.js'

t.test('pieces join to the whole, also where a character is at their border', async (t) => {
  const parse = (pieces: readonly Buffer[]): unknown => JSON.parse(Buffer.concat(pieces).toString())
  const texts = fc.tuple(fc.nat(4), fc.string({ unit: 'grapheme' }))
  const property = fc.property(texts, ([shift, text]) => {
    const whole = `${'x'.repeat(49_150 + shift)}${text}😀"\\\u0000ü`
    t.equal(parse(encodeUtf8(Buffer.from(whole))), whole)
    t.equal(parse(encodeBase64(Buffer.from(whole))), Buffer.from(whole).toString('base64'))
  })
  fc.assert(property, { numRuns: 20 })
  t.equal(parse(encodeUtf8(Buffer.from([0x61, 0xff, 0x62]))), 'a\ufffdb')
  t.equal(parse(encodeUtf8(Buffer.alloc(0))), '')
})
