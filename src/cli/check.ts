/**
 * `check`: everything that can be wrong with a configuration, all of it at once; what the
 * file says, and what it names: certificates that cannot be read, routes that cannot be taken.
 */
import type { Config } from '../config/complete.js'
import type { Loaded } from '../config/load.js'
import { type Problem, problemLines } from '../config/problems.js'
import { routeTable } from '../delivery/routes.js'
import { readTls } from '../platform/tls-files.js'
import type { Answer } from './command.js'

export async function check(loaded: Loaded): Promise<Answer> {
  const problems = loaded.kind === 'problems' ? loaded.problems : await problemsBehind(loaded.config)
  const ok = problems.length === 0
  return {
    json: { ok, problems },
    lines: ok ? [`${loaded.file ?? 'built-in defaults'}: no problems`] : [problemLines(loaded.file, problems)],
    failed: !ok,
  }
}

async function problemsBehind({ tls, outbound }: Config): Promise<readonly Problem[]> {
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
  return problems
}
