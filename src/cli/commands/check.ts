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
import type { Loaded } from '../../config/load.js'
import { type Problem, problemLines } from '../../config/problems.js'
import { routeTable } from '../../delivery/hosts/routes.js'
import { diskSpace } from '../../platform/disk-space.js'
import { readTls } from '../../platform/tls-files.js'
import { mayTake, thresholdWords } from '../../storage/health/disk-guard.js'
import { databaseFile } from '../../storage/open.js'
import type { Answer } from '../command.js'
import { becomeDaemonUser, currentUser } from '../owner.js'

/** `load` reads the configuration; it is asked again with the rights of the daemon's user. */
export async function check(load: () => Loaded): Promise<Answer> {
  const first = load()
  if (first.kind === 'config') becomeDaemonUser(first.config.service.data_dir)
  const loaded = first.kind === 'config' ? load() : first
  const problems = loaded.kind === 'problems' ? loaded.problems : await problemsBehind(loaded.config)
  const ok = problems.length === 0
  const user = currentUser()
  const verdict = ok ? `${loaded.file ?? 'built-in defaults'}: no problems` : problemLines(loaded.file, problems)
  return {
    json: { ok, problems, user },
    lines: [verdict, `checked with the rights of the user ${user}`],
    failed: !ok,
  }
}

async function problemsBehind({ service, tls, outbound }: Config): Promise<readonly Problem[]> {
  const { cert_file, key_file } = tls
  const problems: Problem[] = []
  const tried = async (key: string, work: () => unknown): Promise<void> => {
    try {
      await work()
    } catch (error) {
      problems.push({ key, message: (error as Error).message })
    }
  }
  if (cert_file !== null && key_file !== null) await tried('tls', () => readTls(cert_file, key_file))
  await tried('outbound.routes', () => routeTable(outbound.routes))
  await tried('service.data_dir', () => mustBeUsable(service.data_dir))
  return problems
}

async function mustBeUsable(folder: string): Promise<void> {
  const existing = existingFolder(folder)
  if (existing === folder) {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    const files = filesOfDaemon(folder).filter((file) => existsSync(file))
    for (const file of files) await access(file, constants.R_OK | constants.W_OK)
  }
  const space = await diskSpace(existing)
  if (mayTake(space)) return
  throw new Error(
    `the disk is nearly full, no new mail is accepted: ${space.free} of ${space.total} bytes are free, ${thresholdWords}`,
  )
}

/** Those that a command or a copy made as root may have left to root. */
function filesOfDaemon(folder: string): readonly string[] {
  const database = databaseFile(folder)
  return [database, `${database}-wal`, `${database}-shm`, join(folder, 'daemon.lock')]
}

/** The folder, or the next one above it that is there. Throws where it cannot be made, or may not be looked for. */
function existingFolder(folder: string): string {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined && dirname(folder) !== folder) return existingFolder(dirname(folder))
  if (found?.isDirectory() === false) throw new Error(`${folder} is not a directory`)
  return folder
}
