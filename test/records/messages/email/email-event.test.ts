/** Tags as events show them. */
import t from 'tap'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { toTagObject } from '../../../../src/records/messages/email/email-event.js'

t.test('tags of one name are a list in their order, one is a text', async (t) => {
  const tag = (name: string, value: string): { name: string; value: string } => ({ name, value })
  t.same(toTagObject(toJson([])), {})
  t.same(toTagObject(toJson([tag('tag', 'a')])), { tag: 'a' })
  t.same(toTagObject(toJson([tag('tag', 'b'), tag('x', '1'), tag('tag', 'a'), tag('tag', 'b')])), {
    tag: ['b', 'a', 'b'],
    x: '1',
  })
  t.equal(
    JSON.stringify(toTagObject(toJson([tag('__proto__', 'a'), tag('__proto__', 'b')]))),
    '{"__proto__":["a","b"]}',
  )
})
