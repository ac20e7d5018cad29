/** Large answers become JSON in steps. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { JsonText } from '../../../../../src/base/platform/json-text.js'
import {
  hasLargeText,
  stringifyInSteps,
  stringifyList,
} from '../../../../../src/servers/api/http/output/json-in-steps.js'

t.test('large texts become the same JSON in steps, and the event loop turns in between', async (t) => {
  const text = `x${'\u{1f600}"\\\t\u00e9'.repeat(200_000)}`
  const body = { id: 'a', left_out: undefined, html: text, list: [{ n: 1 }], nothing: null, text: `${text}\ud83d` }
  if (!hasLargeText(body)) throw new Error('its texts are large')
  let turns = 0
  let over = false
  const count = (): void => {
    turns += 1
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  const json = Buffer.concat(await stringifyInSteps(body))
  over = true
  t.ok(isDeepStrictEqual(JSON.parse(json.toString()), JSON.parse(JSON.stringify(body))))
  t.ok(turns >= 8, `${turns} turns`)
  for (const small of [null, 'x'.repeat(300_000), [text], { text: 'x' }, { deep: { text } }]) {
    t.notOk(hasLargeText(small))
  }
})

t.test('a JSON text is taken as it is, and read where it is a part of something else', async (t) => {
  const body = { id: 1, html: new JsonText(Buffer.from('"<p>\\u00e9"')), text: null }
  t.ok(hasLargeText(body))
  t.equal(Buffer.concat(await stringifyInSteps(body)).toString(), '{"id":1,"html":"<p>\\u00e9","text":null}')
  t.equal(JSON.stringify({ body }), '{"body":{"id":1,"html":"<p>é","text":null}}')
})

t.test('a list of large and small items is the same JSON', async (t) => {
  for (const list of [[], [{ n: 1 }], [{ text: 'é"'.repeat(200_000), n: 1 }, null, { n: 2 }]]) {
    t.equal(JSON.stringify({ data: await stringifyList(list, async (item) => item) }), JSON.stringify({ data: list }))
  }
})
