/** The fields that requests of several services have. */
import t from 'tap'
import { z } from 'zod'
import {
  addressList,
  looseBase64,
  mergeHeaders,
  oneAddress,
  toFiles,
  toTags,
} from '../../../../src/servers/api/compatible/fields.js'
import { parseInput } from '../../../../src/servers/api/http/input/parse-input.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

const listOf = (text: string): unknown => parseInput(z.object({ to: addressList }), { to: text }).to
const refusalOf = (text: string): Promise<unknown> => catchRefusal(() => listOf(text))

t.test('lists have names, quotes, and commas within them', async (t) => {
  t.same(listOf('bob@b.test, "Carol, of B" <carol@b.test>,Dan <dan@b.test>'), [
    { address: 'bob@b.test', name: '' },
    { address: 'carol@b.test', name: 'Carol, of B' },
    { address: 'dan@b.test', name: 'Dan' },
  ])
  t.same(listOf(' '), [])
})

t.test('what is no list of addresses is refused', async (t) => {
  for (const text of ['nobody', 'bob@b.test, nobody', ',', 'bob@b.test carol@b.test', '<>'])
    t.match(await refusalOf(text), { kind: 'invalid-address', message: /^to: / }, text)
  t.match(await refusalOf('a@b.test,'.repeat(60)), { message: 'to: at most 50 addresses' })
  t.match(await refusalOf('a,'.repeat(4_000)), { message: 'to: at most 50 addresses' })
  t.match(await refusalOf('x'.repeat(9_000)), { message: /at most 8192 characters/ })
  const several = await catchRefusal(() => parseInput(z.object({ from: oneAddress }), { from: 'a@b.test, c@b.test' }))
  t.match(several, { message: 'from: must be one mail address' })
})

t.test('base64 may have line breaks, and nothing else', async (t) => {
  const bytesOf = (content: string): unknown => parseInput(z.object({ content: looseBase64 }), { content }).content
  t.same(bytesOf('aGVs\r\nbG8=\n'), Buffer.from('hello'))
  for (const wrong of ['aGVsbG8', 'aGV$bG8=', '===='])
    t.match(await catchRefusal(() => bytesOf(wrong)), { kind: 'invalid-parameter' })
})

t.test('tags and files', async (t) => {
  t.same(toTags(['a', 'b', ''], { c: '1', d: '' }), [
    { name: 'tag', value: 'a' },
    { name: 'tag', value: 'b' },
    { name: 'c', value: '1' },
  ])
  const content = Buffer.from('x')
  const file = { filename: 'a.png', content, contentType: 'image/png' }
  t.same(
    toFiles([
      { ...file, contentId: undefined },
      { ...file, contentId: 'logo' },
    ]),
    {
      attachments: [{ filename: 'a.png', content, content_type: 'image/png' }],
      inline_images: [{ filename: 'a.png', content, cid: 'logo', content_type: 'image/png' }],
    },
  )
})

t.test('of header fields whose names differ in case only, the last one stays', async (t) => {
  const merged = mergeHeaders({ 'X-A': '1', 'X-B': '1', 'x-b': '2' }, undefined, { 'x-a': '3', 'X-C': '4' })
  t.same(merged, { 'x-a': '3', 'x-b': '2', 'X-C': '4' })
})
