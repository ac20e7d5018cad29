/**
 * The statements of a batch in the order in which they run, and whose each one is.
 *
 * The locks of `first-locks` come first. Rows that are new follow, those of all requests in one statement for each kind,
 * and then everything else, request by request. Kinds stand in the order that the requests give them. A row that would leave this order stays with its
 * request, and so do rows of a kind that has few: they come after those of the other kinds.
 */
import { type LockingStatement, lockFirst } from './first-locks.js'
import type { ManyRows } from './many-rows.js'
import type { Statement } from './pipeline-run.js'

/** A statement of a request. */
export interface RequestStatement extends LockingStatement {
  /** See `Write.order`. */
  readonly order: number
}

/** Fewer rows than these go one by one, which costs less then. */
const MIN_ROWS = 5

interface Planned {
  readonly statement: Statement
  /** The place of its request in the batch. Null if it is for several requests. */
  readonly owner: number | null
}

type Requests = readonly { readonly statements: readonly RequestStatement[] }[]

/** `many` is null if each row is to be inserted by itself. */
export function planBatch(requests: Requests, many: ManyRows | null): readonly Planned[] {
  const locks = lockFirst(requests.flatMap(({ statements }) => statements))
  const kinds = many === null ? [] : orderKinds(requests)
  const joined: Planned[] = []
  const taken = new Set<RequestStatement>()
  for (const { sql, members } of kinds) {
    if (members.length < MIN_ROWS) continue
    const statement = many?.join(
      sql,
      members.toSorted((one, other) => one.order - other.order).map(({ parameters }) => parameters),
    )
    if (statement === null || statement === undefined) continue
    joined.push({ statement, owner: null })
    for (const member of members) taken.add(member)
  }
  const others = requests.flatMap(({ statements }, owner) =>
    statements.filter((statement) => !taken.has(statement)).map((statement) => ({ statement, owner })),
  )
  return [...locks.map((statement) => ({ statement, owner: null })), ...joined, ...others]
}

interface Kind {
  readonly sql: string
  readonly members: RequestStatement[]
}

/** Each kind comes after those that stand before it in a request. */
function orderKinds(requests: Requests): readonly Kind[] {
  const kinds: Kind[] = []
  for (const { statements } of requests) {
    let last = -1
    for (const statement of statements) {
      if (!statement.isNewRow) continue
      const at = kinds.findIndex(({ sql }) => sql === statement.sql)
      if (at === -1) kinds.splice(++last, 0, { sql: statement.sql, members: [statement] })
      else if (at >= last) {
        kinds[at]?.members.push(statement)
        last = at
      }
    }
  }
  return kinds
}
