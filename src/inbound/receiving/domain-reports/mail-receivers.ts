/**
 * Records to whom each domain sends mail: the organizational domains of its recipients and of the MX hosts that took
 * its messages.
 *
 * A report about a domain from a reporter that never received mail of it is shown, and not believed. A receiver counts also
 * under the other names of its provider: mail to gmail.com is reported by google.com.
 *
 * What is noted is stored a second later, once a day for each receiver, and kept for as long as reports are. What a crash
 * loses is noted again with the next message.
 */

import { sql } from 'kysely'
import { mailboxProviders } from '../../../base/mail/mailbox-providers.js'
import { findRegistryDomain } from '../../../base/mail/public-suffix.js'
import { someAsync } from '../../../base/platform/async-filter.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import { DAY } from '../../../base/platform/time-units.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { MailReceiversTable } from '../../../base/storage/tables/domain-report-tables.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { OnAttempt } from '../../../outbound/delivery/attempt/attempt-settler.js'
import type { DomainReport } from './report-records.js'

const STORED_AFTER = 1_000
/** What does not fit while the database takes no writes is noted with a later message. */
const MAX_PENDING = 2_000
/** Receivers that were noted in the last day, of all domains. */
const MAX_KNOWN = 50_000
const BATCH_SIZE = 500

/** Names under which providers report, besides those of their hosts and mailboxes. They were collected by hand. */
const reporterNames: Readonly<Record<string, readonly string[]>> = {
  amazon: ['amazonses.com', 'amazon.com'],
  apple: ['apple.com'],
  barracuda: ['barracuda.com'],
  cisco: ['cisco.com'],
  fastmail: ['fastmaildmarc.com'],
  microsoft: ['microsoft.com'],
  mimecast: ['mimecastreport.com'],
  proofpoint: ['proofpoint.com'],
  yahoo: ['yahooinc.com'],
}

const columns = ['workspace_id', 'domain', 'receiver', 'noted_at'] as const

/** Adds nothing if the workspace was deleted: its rows are being erased. */
const storeReceiver = prepareWrite<MailReceiversTable>(({ db, slot }) =>
  db
    .insertInto('mail_receivers')
    .columns(columns)
    .expression(
      db
        .selectNoFrom((eb) => columns.map((column) => eb.val(slot(column)).as(column)))
        .where(
          sql<boolean>`${slot('workspace_id')} = ${sql.lit(SERVICE_WORKSPACE)}
            or exists (select 1 from workspaces where id = ${slot('workspace_id')})`,
        ),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'domain', 'receiver'])
        .doUpdateSet((eb) => ({ noted_at: eb.ref('excluded.noted_at') })),
    ),
)

const receiverOf = prepareRead<{ workspaceId: string; domain: string; receiver: string }>()(({ db, slot }) =>
  db
    .selectFrom('mail_receivers')
    .select('noted_at')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('receiver', '=', slot('receiver')),
)

const oldestReceivers = prepareRead<{ before: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('mail_receivers')
    .select(['workspace_id', 'domain', 'receiver'])
    .where('noted_at', '<', slot('before'))
    .orderBy('noted_at')
    .limit(slot('limit')),
)

const removeReceiver = prepareWrite<Omit<MailReceiversTable, 'noted_at'>>(({ db, slot }) =>
  db
    .deleteFrom('mail_receivers')
    .where('workspace_id', '=', slot('workspace_id'))
    .where('domain', '=', slot('domain'))
    .where('receiver', '=', slot('receiver')),
)

/** A message that a server took. */
interface TakenMessage {
  readonly workspaceId: string
  readonly senderDomain: string
  readonly recipientDomain: string
  /** The host that took it, or null if it is not known. */
  readonly mx: string | null
}

interface MailReceiversDeps extends Pick<Store, 'commit'> {
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

export class MailReceivers {
  private readonly known = createLruCache<number>({ max: MAX_KNOWN })
  private pending: MailReceiversTable[] = []
  private timer: NodeJS.Timeout | null = null

  constructor(private readonly deps: MailReceiversDeps) {}

  /** Notes what a server has taken by an attempt of delivery. */
  noteAttempt({ outcome, entry, email, mx }: Parameters<OnAttempt>[0]): void {
    if (outcome !== 'accepted') return
    const senderDomain = email.from_email.slice(email.from_email.lastIndexOf('@') + 1)
    this.note({ workspaceId: entry.workspace_id, senderDomain, recipientDomain: entry.domain, mx })
  }

  note({ workspaceId, senderDomain, recipientDomain, mx }: TakenMessage): void {
    this.noteOne(workspaceId, senderDomain, recipientDomain)
    if (mx !== null) this.noteOne(workspaceId, senderDomain, mx)
  }

  private noteOne(workspaceId: string, senderDomain: string, receiver: string): void {
    const now = this.deps.clock()
    const key = `${workspaceId} ${senderDomain} ${receiver}`
    const age = now - (this.known.get(key) ?? Number.NEGATIVE_INFINITY)
    if ((age >= 0 && age < DAY) || this.pending.length >= MAX_PENDING) return
    this.known.set(key, now)
    this.pending.push({
      workspace_id: workspaceId,
      domain: organizationOf(senderDomain),
      receiver: organizationOf(receiver),
      noted_at: now,
    })
    this.timer ??= setTimeout(() => void this.store(), STORED_AFTER).unref()
  }

  /** Resolves when what was noted is stored. */
  async stop(): Promise<void> {
    await this.store()
  }

  private async store(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    const { pending } = this
    this.pending = []
    if (pending.length === 0) return
    try {
      await this.deps.commit(pending.map(storeReceiver))
    } catch (error) {
      this.known.clear()
      this.deps.log.error({ err: error }, 'the receivers of mail cannot be stored')
    }
  }
}

/** Whether the reporter of a report, or its provider, has taken mail of the domain; each pair is looked up once. */
export function rememberReceivers(
  read: Read,
): (report: Pick<DomainReport, 'workspace_id' | 'domain' | 'reporter'>) => Promise<boolean> {
  const lookups = new Map<string, Promise<boolean>>()
  return ({ workspace_id: workspaceId, domain, reporter }) => {
    const sender = organizationOf(domain)
    const key = `${sender} ${reporter}`
    const isReceiver = async (receiver: string): Promise<boolean> =>
      (await receiverOf(read, { workspaceId, domain: sender, receiver }))[0] !== undefined
    const lookup = lookups.get(key) ?? someAsync(namesOf(reporter), isReceiver)
    lookups.set(key, lookup)
    return lookup
  }
}

/** Resolves to whether there may be more. */
export async function removeOldReceivers({ read, commit }: Store, before: number): Promise<boolean> {
  const old = await oldestReceivers(read, { before, limit: BATCH_SIZE })
  if (old.length > 0) await commit(old.map(removeReceiver))
  return old.length === BATCH_SIZE
}

function organizationOf(name: string): string {
  const lower = name.toLowerCase()
  return findRegistryDomain(lower) ?? lower
}

/** The names of each provider, as organizational domains, by each of them. */
const providerNames: ReadonlyMap<string, readonly string[]> = new Map(
  mailboxProviders.flatMap(({ id, hosts, domains }) => {
    const names = [...new Set([...hosts, ...domains, ...(reporterNames[id] ?? [])].map(organizationOf))]
    return names.map((name) => [name, names] as const)
  }),
)

/** The name itself, and those of the provider that it belongs to. */
function namesOf(reporter: string): readonly string[] {
  return providerNames.get(reporter) ?? [reporter]
}
