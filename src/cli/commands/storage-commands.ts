/** `backup`, `restore`, `verify-data`. */
import { repairData, verifyData } from '../../storage/maintenance/verify.js'
import { type Command, flagOption, refuseExtraWords } from '../command.js'
import { backup, requireDatabase } from './backup-command.js'
import { restore, withRestoreErrors } from './restore-command.js'

export const storageCommands: readonly Command[] = [
  backup,
  restore,
  {
    name: 'verify-data',
    usage: '[--repair]',
    summary: 'check the database: is it whole, and does it make sense',
    options: { repair: 'boolean' },
    run: async ({ words, options, config }) =>
      withRestoreErrors(() => {
        refuseExtraWords(words, 0)
        const file = requireDatabase(config)
        const problems = flagOption(options, 'repair') ? repairData(file) : verifyData(file)
        const lines = problems.map(({ check, message }) => `${check}: ${message}`)
        return {
          json: { ok: problems.length === 0, problems },
          lines: problems.length === 0 ? ['no problems'] : lines,
          failed: problems.length > 0,
        }
      }),
  },
]
