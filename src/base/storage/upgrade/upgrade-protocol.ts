/** Defines what the thread that upgrades is given, and what it reports. */
import type { Migrations } from '../db/migrate.js'

export interface UpgradeJob {
  /** Made first, from `source`, or null if there is no copy. */
  readonly copy: string | null
  readonly source: string
  /** The file that is migrated: `source` itself, or `copy`. */
  readonly file: string
  /** Run `verify-data` on `file` afterwards. */
  readonly verify: boolean
  readonly migrations: Migrations
}

export type UpgradeReport =
  | { readonly kind: 'begins'; readonly step: UpgradeStep }
  | { readonly kind: 'done'; readonly step: UpgradeStep; readonly milliseconds: number }
  | { readonly kind: 'problems'; readonly problems: readonly string[] }
  /** `code` is SQLite's if the machine is at fault. */
  | { readonly kind: 'failed'; readonly code: string | null; readonly message: string }

/** `migration` is its name. */
export type UpgradeStep =
  | { readonly act: 'copy' | 'verify' | 'write back' }
  | { readonly act: 'migrate'; readonly migration: string }

export function describeStep(step: UpgradeStep): string {
  if (step.act === 'migrate') return `migration ${step.migration}`
  if (step.act === 'copy') return 'copying the database'
  return step.act === 'verify' ? 'verifying the data' : 'writing the log back into the database'
}
