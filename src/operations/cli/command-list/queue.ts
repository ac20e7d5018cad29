/** The commands about the outbound queue, and what slows it down or holds it. */
import type { Command } from '../command/command.js'
import { filterOptions, filterUsage } from '../command/queue-options.js'

const loadQueue = () => import('../commands/queue-commands.js')
const loadQueueRule = () => import('../commands/queue-rule-commands.js')
const loadBreaker = () => import('../commands/breaker-commands.js')
const loadShaping = () => import('../commands/shaping-commands.js')
const loadWarmUp = () => import('../commands/warm-up-commands.js')

export const queueCommands: readonly Command[] = [
  queueCommand('list', 'list the entries of the queue, oldest first', async (call) => (await loadQueue()).list(call)),
  {
    ...queueCommand('summary', 'count the queue by provider and reason, largest groups first', async (call) =>
      (await loadQueue()).summarize(call),
    ),
    usage: filterUsage,
  },
  {
    name: 'queue show',
    usage: 'ID',
    summary: 'show one queue entry',
    options: {},
    run: async (call) => (await loadQueue()).show(call),
  },
  queueCommand('hold', 'keep entries in the queue without attempting them', async (call) =>
    (await loadQueue()).hold(call),
  ),
  queueCommand('release', 'let held entries continue', async (call) => (await loadQueue()).release(call)),
  queueCommand('retry', 'attempt entries now', async (call) => (await loadQueue()).retry(call)),
  queueCommand('delete', 'remove entries; their recipients fail', async (call) => (await loadQueue()).remove(call)),
  {
    name: 'queue rules add',
    usage: '[--domain D] [--sender ADDRESS|DOMAIN] [--pattern P] [--workspace ID] [--until TIME]',
    summary: 'hold mail that matches every given condition, waiting now or accepted later, until the rule ends',
    options: { domain: 'string', sender: 'string', pattern: 'string', workspace: 'string', until: 'string' },
    awaitsNotice: true,
    run: async (call) => (await loadQueueRule()).add(call),
  },
  {
    name: 'queue rules list',
    usage: '',
    summary: 'list the hold rules, oldest first, with the number of entries that each holds',
    options: {},
    run: async (call) => (await loadQueueRule()).list(call),
  },
  {
    name: 'queue rules remove',
    usage: 'ID',
    summary: 'end a hold rule and send the mail that it holds',
    options: {},
    awaitsNotice: true,
    run: async (call) => (await loadQueueRule()).remove(call),
  },
  {
    name: 'breaker list',
    usage: '[--workspace ID]',
    summary: 'show the bounces and complaints of each workspace, and the mail that is held because of them',
    options: { workspace: 'string' },
    run: async (call) => (await loadBreaker()).list(call),
  },
  {
    name: 'breaker release',
    usage: 'ID [--workspace ID]',
    summary: 'send the held mail of a workspace, a sender domain or a broadcast, and count its outcomes from zero',
    options: { workspace: 'string' },
    awaitsNotice: true,
    run: async (call) => (await loadBreaker()).release(call),
  },
  {
    name: 'shaping reset',
    usage: 'PROVIDER',
    summary: 'forget what was learned about a provider; its pause ends, and its pace is learned again',
    options: {},
    awaitsNotice: true,
    run: async (call) => (await loadShaping()).reset(call),
  },
  {
    name: 'shaping',
    usage: '',
    summary:
      'list the pace of each provider that has refused mail for its rate, and the pauses that providers asked for',
    options: {},
    run: async (call) => (await loadShaping()).list(call),
  },
  {
    name: 'warmup skip',
    usage: 'ADDRESS|DOMAIN [PROVIDER]',
    summary: 'end the warm-up of a source address or domain, at one provider or everywhere',
    options: {},
    awaitsNotice: true,
    run: async (call) => (await loadWarmUp()).skip(call),
  },
  {
    name: 'warmup restart',
    usage: 'ADDRESS|DOMAIN [PROVIDER]',
    summary: 'restart the warm-up of a source address or domain, at one provider or everywhere',
    options: {},
    awaitsNotice: true,
    run: async (call) => (await loadWarmUp()).restart(call),
  },
  // It comes after the others, because the first command that matches the words is run.
  {
    name: 'warmup',
    usage: '',
    summary:
      'show what new source addresses and domains may send to each provider today, what they have sent, and the plan',
    options: {},
    run: async (call) => (await loadWarmUp()).show(call),
  },
]

function queueCommand(verb: string, summary: string, run: Command['run']): Command {
  return {
    name: `queue ${verb}`,
    usage: `${filterUsage} [ID...]`,
    summary,
    options: filterOptions,
    awaitsNotice: true,
    run,
  }
}
