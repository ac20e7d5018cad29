/** The rows of links: found by their ids, and removed when they are old. */
import t from 'tap'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { createLinkId } from '../../../src/outbound/tracking/link-id.js'
import { insertLinks, linkById, removeOldLinks } from '../../../src/outbound/tracking/links.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

t.test('the links of an email are rows of their own', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const of = { workspace_id: 'ws_1', email_id: 'email', created_at: 1_000 }
  const urls = ['https://b.test/', `https://b.test/?q=%22'"\\u0041"&${'x'.repeat(8_000)}`, '0', '[1]', 'null', '']
  const links = urls.map((url) => [createLinkId(1_000), url] as const)
  await commit([insertLinks({ ...of, links: toJson(links) })])
  const rest = { clicks: 0, first_clicked_at: null, last_clicked_at: null }
  for (const [id, url] of links) t.same(await linkById(read, { id }), [{ ...of, id, url, ...rest }])
  t.same(await linkById(read, { id: 'x' }), [])
  const [known = ['', '']] = links
  const again = insertLinks({ ...of, links: toJson([[createLinkId(1_000), 'https://c.test/'], known]) })
  await t.rejects(commit([again]), 'an id that is there')
  t.equal((await read('select id from links', [])).length, links.length, 'all of them or none')
})

t.test('old links are removed, oldest first, in steps', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const times = Array.from({ length: 1_200 }, (_, place) => 1_000 + place)
  const of = { workspace_id: 'ws_1', email_id: 'email' }
  await commit(times.map((at) => insertLinks({ ...of, created_at: at, links: toJson([[createLinkId(at), 'x']]) })))
  t.equal(await removeOldLinks(database, 1_000), false, 'none is older')
  t.equal(await removeOldLinks(database, 2_100), true)
  const left = async (): Promise<number[]> =>
    (await read<{ at: number }>('select created_at as at from links order by id', [])).map(({ at }) => at)
  t.same(await left(), times.slice(500))
  while (await removeOldLinks(database, 2_100));
  t.same(await left(), times.slice(1_100))
})
