/**
 * `check`: reports all problems of a configuration at once, in the file and in what it names: an unreadable
 * certificate, a data folder without write access, a database that this version cannot use, a nearly full disk. A host
 * name of one label is a problem here, and not at the start.
 *
 * It checks with the rights of the daemon's user, and says which user that is. With `--upgrade` it also tries the
 * upgrade of the database on a copy.
 */
import { constants, existsSync, statSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { LoadedConfig } from '../../../base/config/load.js'
import { formatProblems, type Problem } from '../../../base/config/problems.js'
import { readPublishedSettings } from '../../../base/config/settings-in-force.js'
import { readDiskSpace } from '../../../base/platform/disk-space.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { readAuthorities, readTlsFiles } from '../../../base/platform/tls-files.js'
import type { Migrations } from '../../../base/storage/db/migrate.js'
import { StorageFault } from '../../../base/storage/db/write.js'
import { hasEnoughSpace, thresholdText } from '../../../base/storage/health/disk-guard.js'
import { databaseFile } from '../../../base/storage/open.js'
import { checkServer } from '../../../base/storage/postgres/check-server.js'
import { connectionSettingsOf } from '../../../base/storage/postgres/configured-server.js'
import { ConnectionSettingsError } from '../../../base/storage/postgres/connection-url.js'
import { planUpgrade } from '../../../base/storage/upgrade/upgrade-plan.js'
import {
  type Answer,
  CommandFailed,
  flagOption,
  type OptionValues,
  textOption,
  UsageError,
} from '../command/command.js'
import { becomeDaemonUser, currentUser, describeForbidden, startedAsRoot } from '../command/process-user.js'
import { checkUpgrade } from './check-upgrade.js'

interface CheckIo {
  readonly options: OptionValues
  /** Prints a line of progress. */
  readonly report: (line: string) => void
  /** The migrations of the upgrade that is tried. If it is absent, they are those of this version. */
  readonly migrations?: Migrations
}

/** `load` reads the configuration. It is called again with the rights of the daemon's user. */
export async function check(load: () => LoadedConfig, { options, report, migrations }: CheckIo): Promise<Answer> {
  const copyTo = textOption(options, 'copy-to') ?? null
  if (copyTo !== null && !flagOption(options, 'upgrade')) throw new UsageError('--copy-to belongs to --upgrade')
  const first = load()
  if (first.dataDir !== null) becomeDaemonUser(first.dataDir)
  const loaded = first.kind === 'config' ? load() : first
  const triesUpgrade = flagOption(options, 'upgrade')
  // The trial says whether the database can be used.
  if (triesUpgrade && loaded.kind === 'config' && loaded.config.storage.url !== '') throw new CommandFailed(NO_TRIAL)
  const configuration = await checkConfiguration(loaded, { withDatabase: !triesUpgrade })
  if (!triesUpgrade) return configuration
  if (loaded.dataDir === null) return configuration
  return joinAnswers(configuration, await checkUpgrade({ dataDir: loaded.dataDir, copyTo, report, migrations }))
}

const NO_TRIAL =
  '--upgrade: the data is on the server that storage.url names, whose schema the start changes in one transaction; make a copy with pg_dump before'

interface Verdict extends Answer {
  readonly json: { readonly ok: boolean; readonly problems: readonly Problem[]; readonly user: string }
}

interface Scope {
  readonly withDatabase: boolean
}

async function checkConfiguration(loaded: LoadedConfig, scope: Scope): Promise<Verdict> {
  const problems = loaded.kind === 'problems' ? loaded.problems : await findProblems(loaded, scope)
  const warnings = loaded.kind === 'problems' ? [] : [...loaded.warnings, ...findMovedZone(loaded.config.service)]
  const ok = problems.length === 0
  const user = currentUser()
  if (loaded.kind === 'problems' && loaded.isForbidden === true && !startedAsRoot) {
    const message = describeForbidden(loaded.file ?? '')
    return { json: { ok, problems: [{ key: '', message }], user }, lines: [], failed: true, warnings: [message] }
  }
  const verdict = ok ? `${loaded.file ?? 'built-in defaults'}: no problems` : formatProblems(loaded.file, problems)
  return {
    json: { ok, problems, ...(warnings.length === 0 ? {} : { warnings }), user },
    lines: [verdict, `checked with the rights of the user ${user}`],
    failed: !ok,
    warnings: warnings.map(({ key, message }) => `warning: ${key}: ${message}`),
  }
}

/** The zone follows the host name where the file does not set it, and with the zone all records of customers would change. */
function findMovedZone({ zone, data_dir: dataDir }: SoundConfig['config']['service']): readonly Problem[] {
  const before = readPublishedSettings(dataDir)?.values['service.zone']
  if (typeof before !== 'string' || before === zone) return []
  const message = `changes from "${before}" to "${zone}" at the next start, and the DNS records of all sending domains lead to the former one, so that their DKIM and SPF would fail; to keep them, set zone = "${before}" under [service]`
  return [{ key: 'service.zone', message }]
}

function joinAnswers(configuration: Verdict, upgrade: Answer): Answer {
  return {
    json: { ...configuration.json, upgrade: upgrade.json },
    lines: [...configuration.lines, ...upgrade.lines],
    failed: configuration.failed === true || upgrade.failed === true,
  }
}

type SoundConfig = Extract<LoadedConfig, { kind: 'config' }>

async function findProblems({ config, shortNames }: SoundConfig, scope: Scope): Promise<readonly Problem[]> {
  const { service, tls, sms } = config
  const { cert_file, key_file } = tls
  const { ca_file } = sms.smpp
  const problems: Problem[] = [...shortNames]
  const collectProblem = async (key: string, work: () => unknown): Promise<void> => {
    try {
      await work()
    } catch (error) {
      problems.push({ key, message: errorMessageOf(error) })
    }
  }
  if (cert_file !== null && key_file !== null) await collectProblem('tls', () => readTlsFiles(cert_file, key_file))
  if (sms.provider === 'smpp' && ca_file !== null)
    await collectProblem('sms.smpp.ca_file', () => readAuthorities(ca_file))
  const { enabled, ca_file: acmeAuthorities } = tls.acme
  if (enabled && acmeAuthorities !== null)
    await collectProblem('tls.acme.ca_file', () => readAuthorities(acmeAuthorities))
  if (config.storage.url !== '') problems.push(...(await findServerProblems(config.storage)))
  await collectProblem('service.data_dir', () => requireUsableFolder(service.data_dir, scope))
  return problems
}

async function findServerProblems(storage: SoundConfig['config']['storage']): Promise<readonly Problem[]> {
  try {
    const { problems, copies } = await checkServer(connectionSettingsOf(storage))
    return [...problems, ...copies].map((message) => ({ key: 'storage.url', message }))
  } catch (error) {
    if (error instanceof ConnectionSettingsError) return [{ key: error.key, message: error.fault }]
    return [{ key: 'storage.url', message: errorMessageOf(error) }]
  }
}

async function requireUsableFolder(folder: string, { withDatabase }: Scope): Promise<void> {
  const existing = findExistingFolder(folder)
  if (existing === folder) {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    const files = filesOfDaemon(folder).filter((file) => existsSync(file))
    for (const file of files) await access(file, constants.R_OK | constants.W_OK)
    if (withDatabase) requireKnownDatabase(databaseFile(folder))
  }
  const space = await readDiskSpace(existing)
  if (hasEnoughSpace(space)) return
  throw new Error(
    `the disk is nearly full, no new mail is accepted: ${space.free} of ${space.total} bytes are free, ${thresholdText}`,
  )
}

/** The database itself is only read; there may be none yet. */
function requireKnownDatabase(file: string): void {
  try {
    planUpgrade(file)
  } catch (error) {
    throw error instanceof StorageFault ? new Error(`${file}: ${error.message} (${error.code})`) : error
  }
}

/** The files that a command or a copy made by root may have left to root. */
function filesOfDaemon(folder: string): readonly string[] {
  const database = databaseFile(folder)
  return [database, `${database}-wal`, `${database}-shm`, join(folder, 'daemon.lock')]
}

/** The folder, or its nearest parent that exists. Throws if the folder cannot be created or accessed. */
function findExistingFolder(folder: string): string {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined && dirname(folder) !== folder) return findExistingFolder(dirname(folder))
  if (found?.isDirectory() === false) throw new Error(`${folder} is not a directory`)
  return folder
}
