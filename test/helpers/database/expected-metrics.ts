/** Metrics as counting emails and hits one by one gives them, and as the database has them. */
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { type Json, parseJson } from '../../../src/base/storage/tables/columns.js'
import type { Tag } from '../../../src/base/storage/tables/email-tables.js'
import type { History } from './email-history.js'

const BUCKET = 15 * 60_000
const DAY = 86_400_000
/** Longer URLs are not in the metrics of links. */
const MAX_URL_BYTES = 2_000

/** Numbers that are not 0, by key and name. */
type Numbers = Readonly<Record<string, number>>

class Counts {
  private readonly numbers = new Map<string, number>()

  add(keys: readonly string[], name: string, by = 1): void {
    for (const key of keys) this.numbers.set(`${key} ${name}`, (this.numbers.get(`${key} ${name}`) ?? 0) + by)
  }

  toObject(): Numbers {
    return Object.fromEntries([...this.numbers].filter(([, number]) => number !== 0).toSorted())
  }
}

interface Sent {
  readonly workspace_id: string
  readonly from_domain: string
  readonly tags: string
  readonly created_at: number
}

const startOf = (at: number, length: number): number => Math.floor(at / length) * length

function keysOf({ workspace_id, from_domain, tags, created_at }: Sent): readonly string[] {
  const named = parseJson(tags as Json<readonly Tag[]>).map(({ name, value }) => `${name}:${value}`)
  const bucket = startOf(created_at, BUCKET)
  return ['', from_domain].flatMap((domain) =>
    [...new Set(['', ...named])].map((tag) => `${workspace_id}|${domain}|${tag}|${bucket}`),
  )
}

export function expectedMetrics({ emails, hits }: History): Numbers {
  const counts = new Counts()
  for (const email of emails.values()) {
    const keys = keysOf(email)
    counts.add(keys, email.status)
    for (const state of JSON.parse(email.recipients) as string[]) counts.add(keys, `recipients_${state}`)
    counts.add(keys, 'removed', email.exists ? 0 : 1)
    counts.add(keys, 'unique_opens', email.opened_at === null ? 0 : 1)
    counts.add(keys, 'unique_clicks', email.clicked_at === null ? 0 : 1)
  }
  const clicked = new Set<string>()
  for (const { email_id, type, machine, url } of hits.values()) {
    const email = emails.get(email_id)
    if (email === undefined) continue
    const name = type === 'email.opened' ? 'opens' : 'clicks'
    counts.add(keysOf(email), machine === 1 ? `machine_${name}` : name)
    if (machine === 1 || url === null || Buffer.byteLength(url) > MAX_URL_BYTES) continue
    const day = startOf(email.created_at, DAY)
    const keys = ['', email.from_domain].map((domain) => `${email.workspace_id}|${domain}|${day}|${url}`)
    counts.add(keys, 'clicks')
    if (!clicked.has(`${email_id} ${url}`)) counts.add(keys, 'unique_clicks')
    clicked.add(`${email_id} ${url}`)
  }
  return counts.toObject()
}

export async function storedMetrics(read: Read): Promise<Numbers> {
  const counts = new Counts()
  const rows = [
    ...(await read<Record<string, string | number>>('select * from email_metrics', [])),
    ...(await read<Record<string, string | number>>('select * from link_metrics', [])),
  ]
  // Rows of several slots are added up.
  for (const row of rows) {
    const { workspace_id, domain, tag, bucket, day, url, slot, first_clicked_at, last_clicked_at, ...numbers } = row
    const key = day === undefined ? [tag, bucket] : [day, url]
    for (const [name, number] of Object.entries(numbers)) {
      counts.add([[workspace_id, domain, ...key].join('|')], name, Number(number))
    }
  }
  return counts.toObject()
}
