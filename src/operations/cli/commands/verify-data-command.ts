/** `verify-data`: checks the database. */
import { repairData, verifyData } from '../../../base/storage/maintenance/verify.js'
import { type Answer, type Call, flagOption, refuseExtraWords } from '../command/command.js'
import { requireDatabase } from './backup-command.js'
import { withRestoreErrors } from './restore-command.js'

export async function verify({ words, options, config }: Call): Promise<Answer> {
  return withRestoreErrors(() => {
    refuseExtraWords(words, 0)
    const file = requireDatabase(config)
    const problems = flagOption(options, 'repair') ? repairData(file) : verifyData(file)
    const lines = problems.map(({ check, message }) => `${check}: ${message}`)
    return {
      json: { ok: problems.length === 0, problems },
      lines: problems.length === 0 ? ['no problems'] : lines,
      failed: problems.length > 0,
    }
  })
}
