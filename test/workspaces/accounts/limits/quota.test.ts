/** Email quotas: charged in the commit, at bucket edges, under concurrency, beside another process. */
import t from 'tap'
import { builtInPlans, type PlanLimits, UNLIMITED } from '../../../../src/base/config/plans.js'
import { parseAddress, parseDomainName } from '../../../../src/base/mail/address.js'
import { Refusal, type RefusalKind } from '../../../../src/base/mail/refusal.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { WriteConflict } from '../../../../src/base/storage/db/write.js'
import { EmailCommitter, type IdempotentRequest } from '../../../../src/outbound/sending/email-committer.js'
import type { PreparedEmail } from '../../../../src/outbound/sending/email-preparer.js'
import type { EnqueuedEmail } from '../../../../src/records/messages/queue/enqueue.js'
import { UsageCleanup } from '../../../../src/workspaces/accounts/limits/old-usage.js'
import {
  findUnknownPlans,
  type Plan,
  setPlan,
  WorkspacePlans,
} from '../../../../src/workspaces/accounts/limits/plans.js'
import { EmailCharger } from '../../../../src/workspaces/accounts/limits/quota.js'
import { addUsage, readUsage } from '../../../../src/workspaces/accounts/limits/usage.js'
import { WorkspaceDirectory } from '../../../../src/workspaces/accounts/workspace/workspace-directory.js'
import { buildWorkspaceWithOwner } from '../../../../src/workspaces/accounts/workspace/workspaces.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { skipOnPostgres } from '../../../helpers/database/test-engine.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const noon = Date.UTC(2026, 10, 21, 12)

/** One database for all tests, a workspace for each. */
const { database, openAgain } = await temporaryDatabase(t)
let workspaces = 0
const newWorkspace = (): string => {
  workspaces += 1
  return `ws_${workspaces}`
}

interface CountedCommits {
  readonly take: EmailCommitter['commit']
  /** Domains of the emails that were handed to delivery. */
  readonly handedOver: string[]
}

/** Commits emails with a cache of its own, as each process has one. */
function createCommits(
  { read, commit }: Pick<Database, 'read' | 'commit'>,
  limits: PlanLimits,
  domainEmailsPerDay = 200_000,
): CountedCommits {
  const plan: Plan = { name: 'test', limits }
  const handedOver: string[] = []
  const charger = new EmailCharger(
    read,
    { find: () => plan, findOwner: async (_read, id) => id },
    () => domainEmailsPerDay,
  )
  const queue = { claim: () => null, offer: ({ email }: EnqueuedEmail) => void handedOver.push(email.from_email) }
  const committer = new EmailCommitter({ read, commit, charger, queue })
  return {
    take: (...request) => committer.commit(...request),
    handedOver,
  }
}

type Prepare = (at: number, domain?: string) => PreparedEmail

const of =
  (workspaceId: string): Prepare =>
  (at, domain = 'a.test') => {
    const from = `app@${domain}`
    const enqueued = bulkEmail({ workspaceId, from, to: 'bob@b.test', at })
    return { enqueued, raw: Buffer.from('text'), senderDomain: parseDomainName(domain), suppressed: [], copies: null }
  }

function batch(prepared: Prepare, count: number, at: number, domain?: string): PreparedEmail[] {
  return Array.from({ length: count }, () => prepared(at, domain))
}

async function refusal(taken: Promise<unknown>): Promise<Refusal> {
  try {
    await taken
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('it was taken')
}

const emails = async (workspaceId: string): Promise<number> =>
  (await database.read<{ n: number }>('select count(*) as n from emails where workspace_id = ?', [workspaceId]))[0]
    ?.n ?? -1
const usage = async (workspaceId: string) =>
  database.read<{ kind: string; bucket: number; count: number }>(
    'select kind, bucket, count from usage where workspace_id = ? order by kind, bucket',
    [workspaceId],
  )

t.test('each quota refuses with its own code and says when to retry', async (t) => {
  const table: readonly (readonly [PlanLimits, domainLimit: number, RefusalKind, details: object])[] = [
    [{ credits: 2 }, 100, 'insufficient-quota', { quota: 'credits', limit: 2, remaining: 0, reset_at: null }],
    [
      { emails_per_month: 2 },
      100,
      'quota-exceeded',
      {
        quota: 'emails_per_month',
        limit: 2,
        remaining: 0,
        reset_at: '2026-12-21T00:00:00.000Z',
        retry_after: (29 * DAY + 12 * HOUR) / 1000,
      },
    ],
    [
      { emails_per_day: 2 },
      100,
      'daily-limit',
      { quota: 'emails_per_day', limit: 2, remaining: 0, reset_at: '2026-11-22T12:00:00.000Z', retry_after: 86_400 },
    ],
    [
      {},
      2,
      'daily-limit',
      {
        quota: 'domain_emails_per_day',
        limit: 2,
        remaining: 0,
        reset_at: '2026-11-22T12:00:00.000Z',
        retry_after: 86_400,
      },
    ],
    [{ credits: 2, emails_per_month: 2, emails_per_day: 2 }, 2, 'insufficient-quota', { quota: 'credits' }],
    [{ emails_per_month: 2, emails_per_day: 2 }, 2, 'quota-exceeded', { quota: 'emails_per_month' }],
    [{ emails_per_month: 0 }, 2, 'quota-exceeded', { limit: 0, remaining: 0, reset_at: null }],
  ]
  for (const [limits, domainLimit, kind, details] of table) {
    const what = `${JSON.stringify(limits)} ${domainLimit}`
    const workspace = newWorkspace()
    const prepared = of(workspace)
    const { take, handedOver } = createCommits(database, limits, domainLimit)
    const first = limits.emails_per_month === 0 ? 0 : 2
    for (let n = 0; n < first; n += 1) t.equal(await take([prepared(noon)], null, noon), null, what)
    const before = await usage(workspace)
    t.match(await refusal(take([prepared(noon)], null, noon)), { kind, details }, what)
    const ofBatch = await refusal(take([prepared(noon)], null, noon, { batch: true }))
    t.match(ofBatch, { kind: 'insufficient-quota', details }, `${what}: a batch`)
    t.match(ofBatch.message, /: 0 left, and this batch has 1$/)
    t.equal(await emails(workspace), first, 'nothing of it is there')
    t.same(await usage(workspace), before, 'nothing of it is charged')
    t.equal(handedOver.length, first)
  }
})

t.test('a batch is committed completely or not at all, and counts all of its emails', async (t) => {
  const workspace = newWorkspace()
  const prepared = of(workspace)
  const { take, handedOver } = createCommits(database, { emails_per_month: 10 }, 6)
  await take(batch(prepared, 4, noon), null, noon, { batch: true })
  const tooMany = await refusal(take(batch(prepared, 7, noon, 'c.test'), null, noon, { batch: true }))
  t.match(tooMany, { kind: 'insufficient-quota', details: { quota: 'emails_per_month', limit: 10, remaining: 6 } })
  t.equal(tooMany.message, '10 emails in 30 days: 6 left, and this batch has 7')
  const mixed = [...batch(prepared, 3, noon, 'c.test'), ...batch(prepared, 3, noon)]
  t.match(await refusal(take(mixed, null, noon, { batch: true })), {
    kind: 'insufficient-quota',
    message: '6 emails in a day from a.test: 2 left, and this batch has 3',
  })
  await take([...batch(prepared, 4, noon, 'c.test'), ...batch(prepared, 2, noon)], null, noon, { batch: true })
  t.equal(await emails(workspace), 10)
  t.equal(handedOver.length, 10)
  t.match(await refusal(take([prepared(noon, 'd.test')], null, noon)), { kind: 'quota-exceeded' })
  t.equal(await take([], null, noon), null, 'nothing costs nothing')
})

t.test('the windows advance by the hour and by the day, in UTC', async (t) => {
  const workspace = newWorkspace()
  const prepared = of(workspace)
  const daily = createCommits(database, { emails_per_day: 5 })
  const at = (offset: number): number => noon + offset
  const taken = async (offset: number): Promise<void> =>
    void (await daily.take([prepared(at(offset))], null, at(offset)))
  for (const offset of [0, 1, HOUR - 1, HOUR, 5 * HOUR]) await taken(offset)
  const last = await refusal(daily.take([prepared(at(DAY - 1))], null, at(DAY - 1)))
  t.match(last.details, { remaining: 0, reset_at: '2026-11-22T12:00:00.000Z', retry_after: 1 })
  for (let n = 0; n < 3; n += 1) await taken(DAY)
  t.match((await refusal(daily.take([prepared(at(DAY))], null, at(DAY)))).details, { retry_after: 3600 })
  await taken(DAY + HOUR)

  const monthly = createCommits(database, { emails_per_month: 12 })
  const twoMore = batch(prepared, 2, at(DAY + HOUR))
  await monthly.take(twoMore, null, at(DAY + HOUR), { batch: true })
  const end = Date.UTC(2026, 11, 20, 23, 59, 59, 999)
  await monthly.take([prepared(end)], null, end)
  t.match((await refusal(monthly.take([prepared(end)], null, end))).details, {
    reset_at: '2026-12-21T00:00:00.000Z',
    retry_after: 1,
  })
  for (let n = 0; n < 5; n += 1) await monthly.take([prepared(end + 1)], null, end + 1)
  t.match((await refusal(monthly.take([prepared(end + 1)], null, end + 1))).details, {
    reset_at: '2026-12-22T00:00:00.000Z',
  })
})

t.test(
  'concurrent requests in two processes never exceed a quota',
  { skip: skipOnPostgres('its file is opened by others too') },
  async (t) => {
    const domains = ['a.test', 'b.test', 'c.test']
    const crowds: readonly (readonly [PlanLimits, domainLimit: number, taken: number, RefusalKind])[] = [
      [{ credits: 70, emails_per_month: 71, emails_per_day: 72 }, 40, 70, 'insufficient-quota'],
      [{}, 25, 75, 'daily-limit'],
    ]
    for (const [limits, domainLimit, taken, kind] of crowds) {
      const workspace = newWorkspace()
      const prepared = of(workspace)
      const first = createCommits(database, limits, domainLimit)
      const second = createCommits(await openAgain(), limits, domainLimit)
      // A constraint violation after the charge makes the writer undo the batch and retry its parts.
      const broken = [1, 2].map(() => {
        const email = prepared(noon, 'd.test')
        return first.take([email, email], null, noon).catch((error: Error) => error.name)
      })
      const asked = Array.from({ length: 240 }, (_, n) =>
        (n % 2 === 0 ? first : second).take([prepared(noon, domains[n % 3])], null, noon).then(
          () => 'taken',
          (error: unknown) => (error instanceof Refusal ? error.kind : String(error)),
        ),
      )
      const answers = await Promise.all(asked)
      for (const name of await Promise.all(broken)) t.match(name, /^(ConstraintViolated|Refusal)$/)
      t.equal(answers.filter((answer) => answer === 'taken').length, taken)
      t.same(new Set(answers), new Set(['taken', kind]))
      t.equal(await emails(workspace), taken)
      const counts = new Map((await usage(workspace)).map((row) => [row.kind, row.count]))
      t.equal(counts.get('emails'), taken)
      t.equal(
        domains.reduce((sum, domain) => sum + (counts.get(`domain:${domain}`) ?? 0), 0),
        taken,
      )
      t.equal(counts.get('domain:d.test'), undefined, 'what was undone is not charged')
    }
  },
)

t.test('a repeated request is charged once, and answered when the quota is used up', async (t) => {
  const workspace = newWorkspace()
  const prepared = of(workspace)
  const { take } = createCommits(database, { emails_per_day: 1 })
  const once = (fingerprint: string, emailId: string): IdempotentRequest => ({
    workspaceId: workspace,
    key: 'k',
    fingerprint,
    becomes: { emailId, answer: null, progress: null },
  })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => take([prepared(noon)], once('same', `email-${n}`), noon)),
  )
  t.equal(answers.filter((answer) => answer === null).length, 1)
  const ids = new Set(answers.flatMap((answer) => answer?.emailId ?? []))
  t.equal(ids.size, 1, 'all others get the id of the one')
  t.equal(await emails(workspace), 1)
  t.match(await refusal(take([prepared(noon)], once('other', 'x'), noon)), { kind: 'conflict' })
  t.match(await refusal(take([prepared(noon)], { ...once('same', 'x'), key: 'l' }, noon)), { kind: 'daily-limit' })
  t.equal(
    await take([prepared(noon + DAY)], { ...once('same', 'y'), key: 'l' }, noon + DAY),
    null,
    'its key was not used up',
  )
})

t.test('a conflict for another reason is not reported as a quota', async (t) => {
  const workspace = newWorkspace()
  const prepared = of(workspace)
  const { take } = createCommits(database, { emails_per_day: 5 })
  const email = prepared(noon)
  const sabotaged = { ...email.enqueued, writes: [{ sql: 'delete from emails where 1 = 0', parameters: [], rows: 1 }] }
  await t.rejects(take([{ ...email, enqueued: sabotaged }], null, noon), WriteConflict)
  t.same(await usage(workspace), [])
})

t.test('beside the month and the sender domain, only what a limit needs is counted', async (t) => {
  const workspace = newWorkspace()
  const prepared = of(workspace)
  await createCommits(database, {}).take(batch(prepared, 3, noon), null, noon)
  t.same(await usage(workspace), [
    { kind: 'domain:a.test', bucket: noon, count: 3 },
    { kind: 'emails', bucket: noon - 12 * HOUR, count: 3 },
  ])
})

t.test('housekeeping removes the buckets that no window reaches, and no others', async (t) => {
  const workspace = newWorkspace()
  const midnight = noon - 12 * HOUR
  const kinds: readonly (readonly [kind: string, oldest: number, width: number])[] = [
    ['emails', midnight - 29 * DAY, DAY],
    ['emails-hourly', noon - DAY, HOUR],
    ['domain:a.test', noon - DAY, HOUR],
    ['requests', noon - DAY, 600_000],
  ]
  const row = (kind: string, bucket: number) => addUsage({ workspace_id: workspace, kind, bucket, count: 1 })
  await database.commit(
    kinds.flatMap(([kind, oldest, width]) => [row(kind, oldest - width), row(kind, oldest), row(kind, noon)]),
  )
  await database.commit([row('credits', 0)])
  const purge = new UsageCleanup(database, noon + 599_998)
  while (await purge.step());
  t.same(
    (await usage(workspace)).map(({ kind, bucket }) => `${kind} ${bucket}`),
    ['credits 0', ...kinds.flatMap(([kind, oldest]) => [`${kind} ${oldest}`, `${kind} ${noon}`])].sort(),
  )
})

t.test('one housekeeping step removes few buckets, however many are old', async (t) => {
  const workspace = newWorkspace()
  const old = Array.from({ length: 1100 }, (_, bucket) =>
    addUsage({ workspace_id: workspace, kind: 'domain:a.test', bucket, count: 1 }),
  )
  await database.commit(old)
  const purge = new UsageCleanup(database, noon)
  let most = 0
  for (let more = true; more; ) {
    const before = (await usage(workspace)).length
    more = await purge.step()
    most = Math.max(most, before - (await usage(workspace)).length)
  }
  t.same(await usage(workspace), [])
  t.ok(most <= 500, `${most} at once`)
})

t.test('usage is reported in the shape of the plan', async (t) => {
  const workspace = newWorkspace()
  const prepared = of(workspace)
  await createCommits(database, { credits: 100 }).take(batch(prepared, 7, noon), null, noon)
  const month = { emails_sent: 7, period_start: '2026-10-23T00:00:00.000Z', period_end: '2026-11-21T12:00:00.000Z' }
  const usageUnder = (name: string, limits: PlanLimits) => readUsage(database.read, workspace, { name, limits }, noon)
  t.same(await usageUnder(UNLIMITED, {}), {
    plan: UNLIMITED,
    rate_limit: { requests_per_second: 1000, burst_limit: 1000 },
    usage: { ...month, emails_limit: null },
  })
  t.same(await usageUnder('free', builtInPlans['free'] ?? {}), {
    plan: 'free',
    rate_limit: { requests_per_second: 10, burst_limit: 20 },
    usage: { ...month, emails_limit: 5000 },
  })
  t.match(await usageUnder('standard', builtInPlans['standard'] ?? {}), {
    rate_limit: { requests_per_second: 10, burst_limit: 10 },
    usage: { emails_limit: null },
  })
  t.same(await usageUnder('prepaid', { credits: 100 }), {
    credits_remaining: 93,
    credits_used: 7,
    credits_total: 100,
    credits_expire_at: null,
  })
  t.match(await usageUnder('prepaid', { credits: 5 }), { credits_remaining: 0, credits_used: 7 }, 'a plan that was cut')
  t.match(await readUsage(database.read, workspace, { name: UNLIMITED, limits: {} }, noon + 29 * DAY), {
    usage: { emails_sent: 7 },
  })
  t.match(await readUsage(database.read, workspace, { name: UNLIMITED, limits: {} }, noon + 30 * DAY), {
    usage: { emails_sent: 0 },
  })
})

t.test('a plan holds until the workspace is read again; an unknown plan is the default one', async (t) => {
  const { read, commit } = database
  const limits = { default_plan: 'free', domain_emails_per_day: 1, plans: builtInPlans }
  const found = async (plan: string, at: number): Promise<string> => {
    const { workspaceId, writes } = await buildWorkspaceWithOwner(read, plan, parseAddress('o@a.test'), plan, at)
    await commit(writes)
    return workspaceId
  }
  const gone = await found('gone', noon)
  const pro = await found('pro', noon + 1)
  const directory = await WorkspaceDirectory.open(read)
  const plans = new WorkspacePlans(directory, () => limits)
  t.match(plans.find(pro), { name: 'pro', limits: { emails_per_month: 50_000 } })
  await commit([setPlan({ workspaceId: pro, plan: UNLIMITED })])
  t.equal(plans.find(pro).name, 'pro')
  await directory.learn(pro)
  t.same(plans.find(pro), { name: UNLIMITED, limits: {} })
  t.match(plans.find('ws_nobody'), { name: 'free' })
  await t.rejects(commit([setPlan({ workspaceId: 'ws_nobody', plan: 'pro' })]), WriteConflict)
  for (const plan of ['gold', 'toString', '__proto__']) {
    await commit([setPlan({ workspaceId: pro, plan })])
    await directory.learn(pro)
    t.match(plans.find(pro), { name: 'free', limits: { burst: 20 } }, plan)
  }
  t.match(await findUnknownPlans(read, limits), [
    { id: gone, plan: 'gone' },
    { id: pro, plan: '__proto__' },
  ])
})
