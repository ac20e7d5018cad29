/** The rows of links: found by their ids, and removed when they are old. */
import t from 'tap'
import { createLinkId } from '../../src/tracking/link-id.js'
import { insertLink, linkById, removeOldLinks } from '../../src/tracking/links.js'
import { temporaryDatabase } from '../helpers/database/database.js'

t.test('old links are removed, oldest first, in steps', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const times = Array.from({ length: 1_200 }, (_, place) => 1_000 + place)
  const links = times.map((at) => ({
    id: createLinkId(at),
    workspace_id: 'ws_1',
    email_id: 'email',
    url: `https://b.test/${at}`,
    created_at: at,
  }))
  await commit(links.map(insertLink))
  t.match(linkById(read, { id: links[7]?.id ?? '' }), [{ ...links[7], clicks: 0, last_clicked_at: null }])
  t.same(linkById(read, { id: 'x' }), [])
  t.equal(await removeOldLinks(database, 1_000), false, 'none is older')
  t.equal(await removeOldLinks(database, 2_100), true)
  const left = (): number[] =>
    read<{ at: number }>('select created_at as at from links order by id', []).map(({ at }) => at)
  t.same(left(), times.slice(500))
  while (await removeOldLinks(database, 2_100));
  t.same(left(), times.slice(1_100))
})
