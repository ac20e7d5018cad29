/**
 * Lets one daemon at a time work on the certificate of a name, and stores what comes of that work.
 *
 * A daemon takes a lease of the name, by a commit that misses if another one has it. Each write of the work misses if
 * the lease was lost: the rest is then up to the one that took it, which goes on with the same order and key.
 */
import type { Selectable } from 'kysely'
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import { MINUTE } from '../../base/platform/time-units.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import type { AcmeNamesTable } from '../../base/storage/tables/certificate-tables.js'
import { toJson } from '../../base/storage/tables/columns.js'
import type { NameRecord } from './name-record.js'

/** An order that was made and has no certificate yet. */
export interface StoredOrder {
  readonly url: string
  /** URL of the account that made it. */
  readonly account: string
  /** The key of the certificate, PEM. */
  readonly key: string
}

interface LeaseDeps extends Store {
  readonly clock: Clock
  /** Identifies this daemon, also after a restart. Two daemons that run at once have different ones. */
  readonly holder: string
}

/** Milliseconds. An order takes two minutes at most, unless the server is slow. */
const LEASE_TIME = 10 * MINUTE

interface Leased {
  readonly name: DomainName
  readonly holder: string
  readonly now: number
  readonly until: number
}

const ensureName = prepareWrite<Pick<Leased, 'name' | 'now'>>(({ db, slot }) =>
  db
    .insertInto('acme_names')
    .values({ name: slot('name'), updated_at: slot('now') })
    .onConflict((conflict) => conflict.column('name').doNothing()),
)

/** A lease that ends after `latest` was taken by a clock that was ahead. */
const takeName = prepareWrite<Leased & { readonly latest: number }>(
  ({ db, slot }) =>
    db
      .updateTable('acme_names')
      .set({ leased_by: slot('holder'), leased_until: slot('until'), updated_at: slot('now') })
      .where('name', '=', slot('name'))
      .where((eb) =>
        eb.or([
          eb('leased_until', '<=', slot('now')),
          eb('leased_until', '>', slot('latest')),
          eb('leased_by', '=', slot('holder')),
        ]),
      ),
  1,
)

const releaseName = prepareWrite<Pick<Leased, 'name' | 'holder'>>(({ db, slot }) =>
  db
    .updateTable('acme_names')
    .set({ leased_by: null, leased_until: 0 })
    .where('name', '=', slot('name'))
    .where('leased_by', '=', slot('holder')),
)

type OrderColumns = Pick<Selectable<AcmeNamesTable>, 'order_url' | 'order_account' | 'order_key'>

const setOrder = prepareWrite<Leased & OrderColumns>(
  ({ db, slot, slots }) =>
    db
      .updateTable('acme_names')
      .set({
        ...slots(['order_url', 'order_account', 'order_key']),
        leased_until: slot('until'),
        updated_at: slot('now'),
      })
      .where('name', '=', slot('name'))
      .where('leased_by', '=', slot('holder')),
  1,
)

type RecordColumns = Pick<
  Selectable<AcmeNamesTable>,
  'failures' | 'fault' | 'tried_at' | 'next_try_at' | 'orders' | 'issued'
>

const setRecord = prepareWrite<Leased & RecordColumns>(
  ({ db, slot, slots }) =>
    db
      .updateTable('acme_names')
      .set({
        ...slots(['failures', 'fault', 'tried_at', 'next_try_at', 'orders', 'issued']),
        asked: 0,
        leased_until: slot('until'),
        updated_at: slot('now'),
      })
      .where('name', '=', slot('name'))
      .where('leased_by', '=', slot('holder')),
  1,
)

const orderOfName = prepareRead<{ name: DomainName }>()(({ db, slot }) =>
  db
    .selectFrom('acme_names')
    .select(['order_url as url', 'order_account as account', 'order_key as key'])
    .where('name', '=', slot('name')),
)

const noOrder: OrderColumns = { order_url: null, order_account: null, order_key: null }

export class NameLeases {
  constructor(private readonly deps: LeaseDeps) {}

  /** Resolves to false if another daemon works on the name. */
  take(name: DomainName): Promise<boolean> {
    const leased = this.leaseOf(name)
    const latest = leased.now + 2 * LEASE_TIME
    return tryCommit(this.deps.commit([ensureName(leased), takeName({ ...leased, latest })]))
  }

  /** Never rejects: a lease that could not be given back ends by itself. */
  async release(name: DomainName): Promise<void> {
    await this.deps.commit([releaseName(this.leaseOf(name))]).catch(() => undefined)
  }

  /** Null if there is none. */
  async readOrder(name: DomainName): Promise<StoredOrder | null> {
    const [{ url, account, key } = { url: null, account: null, key: null }] = await orderOfName(this.deps.read, {
      name,
    })
    return url === null || account === null || key === null ? null : { url, account, key }
  }

  /** Rejects with a WriteConflict if the lease is lost, as all writes do. */
  async storeOrder(name: DomainName, { url, account, key }: StoredOrder): Promise<void> {
    const order = { order_url: url, order_account: account, order_key: key }
    await this.deps.commit([setOrder({ ...this.leaseOf(name), ...order })])
  }

  async removeOrder(name: DomainName): Promise<void> {
    await this.deps.commit([setOrder({ ...this.leaseOf(name), ...noOrder })])
  }

  /** Stores how a try ended. The request for it, if there was one, is met. */
  async settle(name: DomainName, record: NameRecord): Promise<void> {
    await this.deps.commit([this.toWrite(name, record)])
  }

  /** Stores how an order ended that gave a certificate, together with `writes`. */
  async settleOrder(name: DomainName, record: NameRecord, writes: readonly Write[]): Promise<void> {
    const order = setOrder({ ...this.leaseOf(name), ...noOrder })
    await this.deps.commit([...writes, order, this.toWrite(name, record)])
  }

  private toWrite(name: DomainName, { failures, fault, triedAt, nextTryAt, orders, issued }: NameRecord): Write {
    return setRecord({
      ...{ ...this.leaseOf(name), failures, fault, tried_at: triedAt, next_try_at: nextTryAt },
      ...{ orders: toJson(orders), issued: toJson(issued) },
    })
  }

  private leaseOf(name: DomainName): Leased {
    const now = this.deps.clock()
    return { name, holder: this.deps.holder, now, until: now + LEASE_TIME }
  }
}
