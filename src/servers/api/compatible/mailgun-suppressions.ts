/** The suppression list as Mailgun's clients see it: a list of bounces, one of complaints, one of unsubscribed addresses. */
import { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Store } from '../../../base/storage/db/database.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { SuppressionReason } from '../../../base/storage/tables/content-tables.js'
import { searchSuppressions, searchSuppressionsBefore } from '../../../records/suppressions/suppression-search.js'
import { addSuppression, findSuppression, type Suppression } from '../../../records/suppressions/suppressions.js'
import { type Answer, json } from '../http/answer.js'
import { type Form, formTypes, parseForms } from '../http/input/form.js'
import { parseInput } from '../http/input/parse-input.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { address, addressInQuery, wholeNumber } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { removeAudited } from '../suppressions/suppressions.js'
import { type MailgunDeps, requireDomain } from './mailgun-domain.js'

/** Addresses of one request, and of one page. */
const MAX_ADDRESSES = 1_000
/** Bytes of a request in JSON. */
const MAX_JSON = 1_048_576
/** Addresses of one commit. */
const COMMIT_STEP = 100

interface List {
  readonly name: 'bounces' | 'complaints' | 'unsubscribes'
  readonly reason: SuppressionReason
  readonly removed: string
  readonly toItem: (row: Suppression) => z.output<typeof item>
}

const item = z
  .object({
    address: z.string(),
    created_at: z.string(),
    code: z.string().optional(),
    error: z.string().optional(),
    tags: z.array(z.string()).optional(),
  })
  .meta({ id: 'MailgunSuppression' })

const lists: readonly List[] = [
  { name: 'bounces', reason: 'hard_bounce', removed: 'Bounced address has been removed', toItem: toBounce },
  { name: 'complaints', reason: 'spam_complaint', removed: 'Spam complaint has been removed', toItem: toPlain },
  {
    ...{ name: 'unsubscribes', reason: 'unsubscribe', removed: 'Unsubscribe event has been removed' },
    toItem: (row) => ({ ...toPlain(row), tags: ['*'] }),
  },
]

function toPlain({ email, created_at }: Suppression): z.output<typeof item> {
  return { address: email, created_at: new Date(created_at).toUTCString() }
}

function toBounce(row: Suppression): z.output<typeof item> {
  const { diagnostic_code: text } = parseJson(row.metadata)
  const error = typeof text === 'string' ? text : ''
  return { ...toPlain(row), code: /^[245]\d\d/.exec(error)?.[0] ?? '550', error }
}

/** The reply of the server is kept as that of a bounce. */
const added = z.object({ address, error: z.string().max(500).optional() })
type Added = z.output<typeof added>

/** One address, or a list. */
export const mailgunSuppressions = z
  .union([added.transform((one) => [one]), withMaxSize(MAX_ADDRESSES, 'addresses', z.array(added).min(1))])
  .meta({ id: 'MailgunSuppressions', example: [{ address: 'bob@example.com' }] })

const query = z.strictObject({
  limit: wholeNumber(1, MAX_ADDRESSES).default(100).meta({ description: 'How many at most. Default 100.' }),
  page: z.enum(['first', 'next', 'previous', 'last']).optional(),
  address: addressInQuery.optional().meta({ description: 'The page begins after it.' }),
  term: z.string().max(254).optional().meta({ description: 'The beginning of addresses.' }),
})

const page = z
  .object({
    items: z.array(item),
    paging: z.object({ first: z.string(), last: z.string(), next: z.string(), previous: z.string() }),
  })
  .meta({ id: 'MailgunSuppressionPage' })
const message = z.object({ message: z.string(), address: z.string().optional() }).meta({ id: 'MailgunMessage' })

const common = { tag: 'Suppressions', refusals: [] } as const
const domain = 'A domain of the workspace. The list is that of all its domains.'

export function mailgunSuppressionRoutes(deps: MailgunDeps): readonly Route[] {
  return lists.flatMap((list) => [
    listRoute(deps, list),
    addRoute(deps, list),
    showRoute(deps, list),
    removeRoute(deps, list),
  ])
}

function listRoute(deps: MailgunDeps, list: List): Route {
  return route({
    ...{ ...common, method: 'GET', area: 'read', path: `/v3/:domain/${list.name}`, params: { domain }, query },
    summary: `List ${list.name} in the order of the addresses`,
    answers: { 200: { description: 'A page. The page after the last is empty.', schema: page } },
    run: async (call) => {
      const name = await requireDomain(deps, call)
      const rows = await findPage(deps, list, call)
      const paging = buildPaging(`${deps.publicUrl}/v3/${name}/${list.name}`, call.query, rows)
      return json(200, { items: rows.map(list.toItem), paging } satisfies z.output<typeof page>)
    },
  })
}

type Query = z.output<typeof query>

function isBackward({ page }: Query): boolean {
  return page === 'previous' || page === 'last'
}

function findPage({ read }: MailgunDeps, { reason }: List, call: Call<Query>): Promise<readonly Suppression[]> {
  const { limit, address, page, term: beginning = '' } = call.query
  const search = { workspaceId: call.principal.workspaceId, beginning, reason, limit }
  const place = page === 'first' || page === 'last' ? undefined : address
  return isBackward(call.query)
    ? searchSuppressionsBefore(read, { ...search, before: place })
    : searchSuppressions(read, { ...search, after: place })
}

/** Beside an empty page at one end of the list are the page that is there, and the empty one again. */
function buildPaging(base: string, query: Query, rows: readonly Suppression[]): z.output<typeof page>['paging'] {
  const { address = '', limit, term = '' } = query
  const urlOf = (page: string, address: string): string => {
    const words = { page, address, limit: String(limit), term }
    return `${base}?${new URLSearchParams(Object.entries(words).filter(([, value]) => value !== ''))}`
  }
  const [before, after] = isBackward(query) ? [address, ''] : ['', address]
  return {
    ...{ first: urlOf('first', ''), last: urlOf('last', '') },
    previous: urlOf('previous', rows[0]?.email ?? before),
    next: urlOf('next', rows.at(-1)?.email ?? after),
  }
}

function addRoute(deps: MailgunDeps, list: List): Route {
  const about = {
    ...common,
    method: 'POST',
    area: 'write',
    path: `/v3/:domain/${list.name}`,
    params: { domain },
    summary: `Add addresses to ${list.name}`,
    answers: { 200: { description: 'They are on the list.', schema: message } },
    run: (call: Call<undefined, readonly Added[]>) => addAll(deps, list, call),
  } as const
  const byForm = route<undefined, readonly Added[]>({
    ...about,
    raw: {
      types: formTypes,
      limit: MAX_JSON,
      schema: added,
      parse: parseForms(parseForm),
    },
  })
  return route<undefined, readonly Added[]>({
    ...about,
    body: mailgunSuppressions,
    maxBody: MAX_JSON,
    otherwise: byForm,
  })
}

function parseForm({ fields }: Form): readonly Added[] {
  const given = [...fields].map(([name, values]) => [name, values.at(-1)] as const)
  return parseInput(mailgunSuppressions, Object.fromEntries(given))
}

async function addAll(deps: MailgunDeps, list: List, call: Call<undefined, readonly Added[]>): Promise<Answer> {
  await requireDomain(deps, call)
  const { principal, body, now: at } = call
  const { workspaceId } = principal
  for (let from = 0; from < body.length; from += COMMIT_STEP) {
    const portion = body.slice(from, from + COMMIT_STEP).map(({ address: email, error }) => {
      const bounce = { bounce_type: 'hard', bounce_subtype: 'imported' }
      const metadata =
        list.name === 'bounces' ? { ...bounce, ...(error === undefined ? {} : { diagnostic_code: error }) } : {}
      return addSuppression({ workspaceId, email, reason: list.reason, sourceEmailId: null, metadata, at })
    })
    await deps.commit(portion)
  }
  const [first, ...others] = body
  if (first === undefined || others.length > 0) {
    return json(200, { message: `${body.length} addresses have been added to the ${list.name} table` })
  }
  return json(200, { message: `Address has been added to the ${list.name} table`, address: first.address })
}

function showRoute(deps: MailgunDeps, list: List): Route {
  return route({
    ...{ ...common, method: 'GET', area: 'read', path: `/v3/:domain/${list.name}/:address`, params: { domain } },
    summary: `Show an address of ${list.name}`,
    answers: { 200: { description: 'It is on the list.', schema: item } },
    run: async (call) => json(200, list.toItem(await requireRow(deps, list, call))),
  })
}

function removeRoute(deps: MailgunDeps, list: List): Route {
  return route({
    ...{ ...common, method: 'DELETE', area: 'write', path: `/v3/:domain/${list.name}/:address`, params: { domain } },
    summary: `Remove an address from ${list.name}`,
    answers: { 200: { description: 'It is removed.', schema: message } },
    run: async (call) => {
      const row = await requireRow(deps, list, call)
      if (!(await removeAudited(deps, call.principal, row, call.now))) throw unknownAddress(list)
      return json(200, { message: list.removed, address: row.email })
    },
  })
}

async function requireRow(deps: Store, list: List, call: Call): Promise<Suppression> {
  await requireDomain(deps, call)
  const parsed = address.safeParse(call.params['address'])
  const row = parsed.success ? await findSuppression(deps.read, call.principal.workspaceId, parsed.data) : undefined
  if (row?.reason === list.reason) return row
  throw unknownAddress(list)
}

function unknownAddress({ name }: List): Refusal {
  return new Refusal('not-found', `Address not found in ${name} table`)
}
