/**
 * `check --upgrade`: would this version upgrade the database, in what time, and with a sound result? It is tried on a
 * copy. Progress goes to standard error, the result to the answer.
 */
import { access, constants } from 'node:fs/promises'
import { resolve } from 'node:path'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { version } from '../../../base/platform/version.js'
import type { Migrations } from '../../../base/storage/db/migrate.js'
import { migrations as ours } from '../../../base/storage/db/migrations.js'
import { DevelopmentDatabase, NewerDatabase } from '../../../base/storage/db/schema-errors.js'
import { databaseFile } from '../../../base/storage/open.js'
import { NoRoomForCopy, rehearseUpgrade } from '../../../base/storage/upgrade/rehearse-upgrade.js'
import { describeStep } from '../../../base/storage/upgrade/upgrade-protocol.js'
import { type Answer, CommandFailed } from '../command/command.js'
import { requireFolderAccess } from '../command/process-user.js'

interface UpgradeCheckOptions {
  readonly dataDir: string
  /** Where the copy is made. Null if it is made in the data folder. */
  readonly copyTo: string | null
  readonly report: (line: string) => void
  /** If it is absent, the migrations are those of this version. */
  readonly migrations?: Migrations | undefined
}

type Rehearsal = NonNullable<Awaited<ReturnType<typeof rehearseUpgrade>>>

export async function checkUpgrade(options: UpgradeCheckOptions): Promise<Answer> {
  const { dataDir, copyTo, report, migrations = ours } = options
  requireFolderAccess(dataDir)
  const folder = resolve(copyTo ?? dataDir)
  if (copyTo !== null) await requireFolder(folder)
  const ended = new AbortController()
  const end = (): void => ended.abort(new CommandFailed('ended by a signal: the copy is removed'))
  for (const signal of SIGNALS) process.once(signal, end)
  try {
    const rehearsal = await rehearseUpgrade({
      file: databaseFile(dataDir),
      folder,
      onPlan: ({ bytes, room }, { free }) =>
        report(
          `the copy takes ${formatBytes(bytes)} in ${folder}, at most ${formatBytes(room)} with the migration; ${formatBytes(free)} are free`,
        ),
      onBegin: (step) => report(describeStep(step)),
      onWait: (step, milliseconds) => report(`${describeStep(step)}: ${formatTime(milliseconds)} so far`),
      signal: ended.signal,
      migrations,
    })
    return rehearsal === null ? describeNothing() : describeRehearsal(rehearsal)
  } catch (error) {
    // The problems of the configuration are printed all the same.
    if (error instanceof NewerDatabase || error instanceof DevelopmentDatabase) return describeUnusable(error)
    throw error instanceof NoRoomForCopy ? new CommandFailed(error.message) : error
  } finally {
    for (const signal of SIGNALS) process.off(signal, end)
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

async function requireFolder(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new CommandFailed(`--copy-to: ${errorMessageOf(error)}`)
  }
}

function describeUnusable({ message }: Error): Answer {
  return { json: { needed: false, version, migrations: [], problems: [message] }, lines: [message], failed: true }
}

function describeNothing(): Answer {
  const lines = ['there is no database yet: the first start creates it']
  return { json: { needed: false, version, migrations: [] }, lines }
}

function describeRehearsal({ plan, migrations, milliseconds, problems }: Rehearsal): Answer {
  const json = { needed: plan.pending.length > 0, version, from: plan.from, bytes: plan.bytes, room: plan.room }
  if (!json.needed) {
    return {
      json: { ...json, migrations: [] },
      lines: [`the database is of this version (${version}): nothing to upgrade`],
    }
  }
  const width = Math.max(...migrations.map(({ name }) => name.length))
  return {
    json: { ...json, migrations, milliseconds, problems },
    lines: [
      `the database, last changed by ${plan.from}, needs ${migrations.length} ${migrations.length === 1 ? 'migration' : 'migrations'} for version ${version}:`,
      ...migrations.map(({ name, milliseconds: took }) => `  ${name.padEnd(width)}  ${formatTime(took)}`),
      `copied, migrated and verified in ${formatTime(milliseconds)}; the copy is removed`,
      ...(problems.length === 0
        ? ['the migrated copy has no problems: the upgrade can be made']
        : ['verify-data found problems in the migrated copy: do not upgrade before they are understood', ...problems]),
    ],
    failed: problems.length > 0,
  }
}

function formatTime(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

function formatBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1)
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** power).toFixed(1)} ${UNITS[power]}`
}
