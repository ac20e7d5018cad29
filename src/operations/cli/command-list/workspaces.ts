/** The commands about workspaces, their people and their keys. */
import type { Command } from '../command/command.js'

const loadWorkspace = () => import('../commands/workspace-commands.js')
const loadSetup = () => import('../commands/setup-command.js')
const loadUser = () => import('../commands/user-commands.js')
const loadKey = () => import('../commands/key-commands.js')

export const workspaceCommands: readonly Command[] = [
  {
    name: 'setup',
    usage: '--workspace NAME --email ADDRESS [--domain DOMAIN [--wait] [--format zone|json|text]]',
    summary:
      'create the first workspace, its owner and a full key, and print the key and a link that sets the password once; ' +
      'with a domain, print all DNS records too; you can repeat it',
    options: { workspace: 'string', email: 'string', domain: 'string', wait: 'boolean', format: 'string' },
    needsFullNames: true,
    run: async (call) => (await loadSetup()).setUp(call),
  },
  {
    name: 'workspace create',
    usage: 'NAME --email ADDRESS',
    summary: 'create another workspace with its owner and a full key',
    options: { email: 'string' },
    run: async (call) => (await loadWorkspace()).create(call),
  },
  {
    name: 'workspace list',
    usage: '',
    summary: 'list the workspaces',
    options: {},
    run: async (call) => (await loadWorkspace()).list(call),
  },
  {
    name: 'workspace set-plan',
    usage: 'ID PLAN',
    summary: 'give a workspace another plan, built-in or from the configuration; it applies at once',
    options: {},
    awaitsNotice: true,
    run: async (call) => (await loadWorkspace()).changePlan(call),
  },
  {
    name: 'workspace set-operator',
    usage: 'ID',
    summary: "make a workspace the operator's, which receives mail to postmaster and abuse of the service",
    options: {},
    awaitsNotice: true,
    run: async (call) => (await loadWorkspace()).changeOperator(call),
  },
  {
    name: 'user list',
    usage: '',
    summary: 'list the users of the service',
    options: {},
    run: async (call) => (await loadUser()).list(call),
  },
  {
    name: 'user set-password',
    usage: 'EMAIL',
    summary: 'set the password of a user, read from standard input, and end their sessions',
    options: {},
    run: async (call) => (await loadUser()).changePassword(call),
  },
  {
    name: 'user reset-second-factor',
    usage: 'EMAIL',
    summary: 'disable the second factor of a user who has lost it, and end their sessions',
    options: {},
    run: async (call) => (await loadUser()).resetSecondFactor(call),
  },
  {
    name: 'workspace transfer',
    usage: 'ID EMAIL',
    summary: 'make a member of a workspace its owner; the previous owner stays as an admin',
    options: {},
    awaitsNotice: true,
    run: async (call) => (await loadUser()).transfer(call),
  },
  {
    name: 'key create',
    usage:
      '--name NAME [--workspace ID] [--scopes full|send|read[,...]] [--domains DOMAIN[,...]] ' +
      '[--networks NETWORK[,...]] [--expires-at TIME] [--sender ADDRESS]',
    summary: 'create an API key and print it once',
    options: {
      ...{ name: 'string', workspace: 'string', scopes: 'string', domains: 'string', networks: 'string' },
      ...{ 'expires-at': 'string', sender: 'string' },
    },
    run: async (call) => (await loadKey()).create(call),
  },
  {
    name: 'key list',
    usage: '[--workspace ID]',
    summary: 'list the keys of a workspace',
    options: { workspace: 'string' },
    run: async (call) => (await loadKey()).list(call),
  },
  {
    name: 'key revoke',
    usage: 'ID [--workspace ID]',
    summary: 'revoke a key permanently, and end its open SMTP sessions',
    options: { workspace: 'string' },
    awaitsNotice: true,
    run: async (call) => (await loadKey()).revoke(call),
  },
]
