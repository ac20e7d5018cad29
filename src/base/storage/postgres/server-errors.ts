/** The three ways in which statements fail at PostgreSQL: refused by the server, of unknown outcome, or never sent. */

import { PlainFault } from '../../platform/errors.js'

/** What the server says of an error: a part of its fields. */
export interface ServerReport {
  readonly message: string
  /** The SQLSTATE. */
  readonly code?: string | undefined
  readonly detail?: string | undefined
  readonly constraint?: string | undefined
  readonly table?: string | undefined
}

/** The server refused a statement, or the commit. Nothing of the run was stored. */
export class ServerError extends Error {
  override name = 'ServerError'
  /** The SQLSTATE, such as `23505`. */
  readonly code: string
  /** The constraint of the schema that was violated. */
  readonly constraint: string | undefined
  readonly table: string | undefined
  /** It may repeat stored values, so it belongs into no log. */
  readonly detail: string | undefined

  constructor(
    report: ServerReport,
    /** The index of the statement in its run; the number of statements if the commit failed. */
    readonly statement: number,
    sql: string | undefined,
  ) {
    const place = sql === undefined ? 'at the commit' : `in statement ${statement}, ${shorten(sql)}`
    super(`PostgreSQL: ${report.message} (${report.code}) ${place}`)
    this.code = report.code ?? ''
    this.constraint = report.constraint
    this.table = report.table
    this.detail = report.detail
  }
}

/** The connection is lost. A run that was sent may have been committed or not: its outcome is unknown. */
export class ConnectionLost extends PlainFault {
  override name = 'ConnectionLost'

  constructor(
    reason: string,
    /** If it is false, the server has seen nothing of the run. */
    readonly wasSent: boolean,
  ) {
    super(
      wasSent
        ? `the connection to PostgreSQL is lost, and the outcome is unknown: ${reason}`
        : `the connection to PostgreSQL is lost, and nothing was sent: ${reason}`,
    )
  }
}

/** A parameter cannot be stored by PostgreSQL. Nothing of the run was sent. */
export class UnsendableValue extends Error {
  override name = 'UnsendableValue'

  constructor(
    rule: string,
    /** The index of the statement in its run. */
    readonly statement: number,
    parameter: number,
    sql: string,
  ) {
    super(`parameter $${parameter + 1} of statement ${statement} ${rule} (${shorten(sql)})`)
  }
}

function shorten(sql: string): string {
  return JSON.stringify(sql.length > 200 ? `${sql.slice(0, 200)}…` : sql)
}
