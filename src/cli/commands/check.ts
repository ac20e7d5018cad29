/**
 * `check`: everything that can be wrong with a configuration, all of it at once; what the
 * file says, and what it names: certificates that cannot be read, routes that cannot be taken, a data folder
 * that cannot be written to, a disk that is nearly full.
 *
 * It judges with the rights of the daemon's user and says which user that is: what root can read says nothing
 * about the daemon.
 */
import { constants, existsSync, statSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../../config/complete.js'
import type { LoadedConfig } from '../../config/load.js'
import { formatProblems, type Problem } from '../../config/problems.js'
import { readDiskSpace } from '../../platform/disk-space.js'
import { errorMessageOf } from '../../platform/errors.js'
import { readTlsFiles } from '../../platform/tls-files.js'
import { hasEnoughSpace, thresholdText } from '../../storage/health/disk-guard.js'
import { databaseFile } from '../../storage/open.js'
import type { Answer } from '../command.js'
import { becomeDaemonUser, currentUser } from '../process-user.js'

/** `load` reads the configuration; it is asked again with the rights of the daemon's user. */
export async function check(load: () => LoadedConfig): Promise<Answer> {
  const first = load()
  if (first.kind === 'config') becomeDaemonUser(first.config.service.data_dir)
  const loaded = first.kind === 'config' ? load() : first
  const problems = loaded.kind === 'problems' ? loaded.problems : await findProblems(loaded.config)
  const ok = problems.length === 0
  const user = currentUser()
  const verdict = ok ? `${loaded.file ?? 'built-in defaults'}: no problems` : formatProblems(loaded.file, problems)
  return {
    json: { ok, problems, user },
    lines: [verdict, `checked with the rights of the user ${user}`],
    failed: !ok,
  }
}

async function findProblems({ service, tls }: Config): Promise<readonly Problem[]> {
  const { cert_file, key_file } = tls
  const problems: Problem[] = []
  const collectProblem = async (key: string, work: () => unknown): Promise<void> => {
    try {
      await work()
    } catch (error) {
      problems.push({ key, message: errorMessageOf(error) })
    }
  }
  if (cert_file !== null && key_file !== null) await collectProblem('tls', () => readTlsFiles(cert_file, key_file))
  await collectProblem('service.data_dir', () => requireUsableFolder(service.data_dir))
  return problems
}

async function requireUsableFolder(folder: string): Promise<void> {
  const existing = findExistingFolder(folder)
  if (existing === folder) {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    const files = filesOfDaemon(folder).filter((file) => existsSync(file))
    for (const file of files) await access(file, constants.R_OK | constants.W_OK)
  }
  const space = await readDiskSpace(existing)
  if (hasEnoughSpace(space)) return
  throw new Error(
    `the disk is nearly full, no new mail is accepted: ${space.free} of ${space.total} bytes are free, ${thresholdText}`,
  )
}

/** Those that a command or a copy made as root may have left to root. */
function filesOfDaemon(folder: string): readonly string[] {
  const database = databaseFile(folder)
  return [database, `${database}-wal`, `${database}-shm`, join(folder, 'daemon.lock')]
}

/** The folder, or the next one above it that is there. Throws where it cannot be made, or may not be looked for. */
function findExistingFolder(folder: string): string {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined && dirname(folder) !== folder) return findExistingFolder(dirname(folder))
  if (found?.isDirectory() === false) throw new Error(`${folder} is not a directory`)
  return folder
}
