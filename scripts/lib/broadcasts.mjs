// Audiences and broadcasts of a daemon.
import { setTimeout as sleep } from 'node:timers/promises'
import { uuidv7 } from '../../dist/src/base/platform/ids.js'
import { createClient } from './https-client.mjs'
import { openRows } from './rows.mjs'

const paragraph =
  '<p style="padding:10px 20px;font-family:Arial,sans-serif;color:#333333">A text of some length &amp; more of it.</p>\n'
const links = Array.from(
  { length: 10 },
  (_, n) => `<a href="https://shop.example.test/articles/${n}?source=mail&amp;campaign=spring">Article ${n}</a>\n`,
).join('')
const variables =
  '<p>Hello {{first_name|friend}} {{last_name}} ({{email}}), {{metadata.plan}} since {{metadata.since}}</p>\n'
const fill = paragraph.repeat(Math.ceil((20_480 - links.length) / paragraph.length))
/** 20 KB with five variables and ten links. */
const html = `<html><body>${variables}${links}${fill}</body></html>\n`

/** An audience with so many contacts, before the daemon opens the database; resolves to its id. */
export async function fillAudience(
  { database, workspaceId },
  count,
  addressOf = (n, id) => `r${n}.${id.slice(-6)}@sink.test`,
) {
  const rows = await openRows(database)
  const at = Date.now() - 3_600_000
  const id = uuidv7(at)
  await rows.write('insert into audiences (id, workspace_id, name, created_at, updated_at) values (?, ?, ?, ?, ?)', [
    [id, workspaceId, id, at, at],
  ])
  await rows.write(
    `insert into contacts (id, workspace_id, audience_id, email, email_key, first_name, last_name,
    subscribed, metadata, created_at, updated_at)
    values (?, ?, ?, ?, ?, 'Alexander', ?, 1, ?, ?, ?)`,
    Array.from({ length: count }, (_, n) => {
      const metadata = JSON.stringify({ plan: 'pro & more', since: '2026', number: n })
      const email = addressOf(n, id)
      return [uuidv7(at), workspaceId, id, email, email, `O'Neil ${n}`, metadata, at, at]
    }),
  )
  await rows.close()
  return id
}

/** Broadcasts over the REST interface. */
export function openBroadcasts({ port, key }) {
  const { demand, close } = createClient({ port, key })
  const show = (id) => demand('GET', `/v1/broadcasts/${id}`)
  return {
    close,
    send: async (audienceId, sender = 'News <news@bench.test>', content = html) => {
      const about = { name: 'News', audience_id: audienceId, from: sender, subject: 'For {{first_name}}' }
      const { id } = await demand('POST', '/v1/broadcasts', { ...about, html: content })
      await demand('POST', `/v1/broadcasts/${id}/send`, {})
      return id
    },
    finished: async (id, seconds) => {
      for (let left = seconds * 10; left > 0; left -= 1) {
        const shown = await show(id)
        if (shown.finished_at !== null) return shown
        await sleep(100)
      }
      throw new Error(`the broadcast was not finished after ${seconds} s`)
    },
  }
}
