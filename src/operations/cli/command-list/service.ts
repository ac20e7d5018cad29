/** The commands about the service: its zone, certificates, database, standby and daemon. */
import type { Command } from '../command/command.js'

const loadZone = () => import('../commands/zone-command.js')
const loadCertificate = () => import('../commands/certificate-commands.js')
const loadBackup = () => import('../commands/backup-command.js')
const loadRestore = () => import('../commands/restore-command.js')
const loadVerifyData = () => import('../commands/verify-data-command.js')
const loadStandby = () => import('../commands/standby-commands.js')
const loadNodes = () => import('../commands/node-commands.js')
const loadStorage = () => import('../commands/storage-commands.js')
const loadTop = () => import('../commands/top-command.js')
const loadDoctor = () => import('../commands/doctor.js')
const loadReload = () => import('../commands/reload.js')
const loadMcp = () => import('../commands/mcp-command.js')
const loadConfig = () => import('../commands/config-command.js')

export const serviceCommands: readonly Command[] = [
  {
    name: 'zone',
    usage: '',
    summary: 'print the DNS records of the service zone, as a zone file',
    options: {},
    run: async (call) => (await loadZone()).printZone(call),
  },
  {
    name: 'certificates renew',
    usage: 'NAME',
    summary: 'make the daemon renew the certificate of a name now, and wait for the result',
    options: {},
    run: async (call) => (await loadCertificate()).renewCertificate(call),
  },
  {
    name: 'certificates',
    usage: '',
    summary: 'list the certificates from the ACME server, each with its end, last fault and next try',
    options: {},
    run: async (call) => (await loadCertificate()).listCertificates(call),
  },
  {
    name: 'backup',
    usage: 'FILE|FOLDER|- [--keep N] [--pace MB] [--compact] [--progress]',
    summary: 'write a checked copy of the database while the daemon runs; "-" writes it to standard output',
    options: { keep: 'string', pace: 'string', compact: 'boolean', progress: 'boolean' },
    needsFiles: true,
    run: async (call) => (await loadBackup()).backup(call),
  },
  {
    name: 'restore',
    usage: 'FILE [--hold-queue]',
    summary: 'replace the database with a backup; stop the daemon first',
    options: { 'hold-queue': 'boolean' },
    needsFiles: true,
    run: async (call) => (await loadRestore()).restore(call),
  },
  {
    name: 'verify-data',
    usage: '[--repair]',
    summary: 'check that the database is whole and consistent',
    options: { repair: 'boolean' },
    needsFiles:
      'which finds damage in its files (data checksums, pg_amcheck); nothing compares its counts with its rows',
    run: async (call) => (await loadVerifyData()).verify(call),
  },
  {
    name: 'standby status',
    usage: '',
    summary: 'show how much of the database is in the standby folder',
    options: {},
    needsFiles: true,
    run: async (call) => (await loadStandby()).showStatus(call),
  },
  {
    name: 'standby follow',
    usage: 'FOLDER [--once]',
    summary: 'keep a copy of the database up to date from a standby folder, until you stop the command',
    options: { once: 'boolean' },
    needsFiles: true,
    run: async (call) => (await loadStandby()).follow(call),
  },
  {
    name: 'standby restore',
    usage: 'FOLDER [--hold-queue]',
    summary: 'make the database from a standby folder; stop the daemon first',
    options: { 'hold-queue': 'boolean' },
    needsFiles: true,
    run: async (call) => (await loadStandby()).restore(call),
  },
  {
    name: 'node list',
    usage: '',
    summary: 'list the daemons that work on the database of PostgreSQL, with their state and entries',
    options: {},
    run: async (call) => (await loadNodes()).list(call),
  },
  {
    name: 'node drain',
    usage: 'NAME [--no-wait]',
    summary: 'move the entries of a daemon to the others, so that it may be stopped; it takes no new mail then',
    options: { 'no-wait': 'boolean' },
    run: async (call) => (await loadNodes()).drain(call),
  },
  {
    name: 'node remove',
    usage: 'NAME',
    summary: 'forget a daemon that does not come back',
    options: {},
    run: async (call) => (await loadNodes()).remove(call),
  },
  {
    name: 'storage copy',
    usage: '--to URL [--password-file FILE] [--ca-file FILE] [--schema NAME]',
    summary: 'copy the database to PostgreSQL and compare the copy; stop the daemon first',
    options: { to: 'string', 'password-file': 'string', 'ca-file': 'string', schema: 'string' },
    needsFiles: true,
    run: async (call) => (await loadStorage()).copy(call),
  },
  {
    name: 'top',
    usage: '[--once]',
    summary:
      'show what the service does now: rates, queue, destinations, senders; at a terminal it is live until you press q',
    options: { once: 'boolean' },
    run: async (call) => (await loadTop()).top(call),
  },
  {
    name: 'doctor',
    usage: '[CHECK…] [--nagios]',
    summary: 'check the machine, its DNS and the service, and say how to repair what is wrong',
    options: { nagios: 'boolean' },
    // It reports a closed data folder as a finding, and goes on with the rest.
    worksOutsideFolder: true,
    run: async (call) => (await loadDoctor()).runDoctor(call),
  },
  {
    name: 'config',
    usage: '[KEY...]',
    summary: 'print the settings, where each was set, and what the daemon still has; KEY: a setting or a section',
    options: {},
    worksOutsideFolder: true,
    run: async (call) => (await loadConfig()).showConfig(call),
  },
  {
    name: 'reload',
    usage: '',
    summary: 'make the running daemon apply a changed configuration without dropping a session',
    options: {},
    run: async (call) => (await loadReload()).reload(call),
  },
  {
    name: 'mcp',
    usage: '[--allow-changes] [--url URL] [--key-file FILE]',
    summary: 'serve tools for an AI agent on standard input and output; they read only, unless you allow changes',
    options: { 'allow-changes': 'boolean', url: 'string', 'key-file': 'string' },
    // It reads nothing there but the certificate, and works on other machines too.
    worksOutsideFolder: true,
    run: async (call) => (await loadMcp()).serveMcp(call),
  },
]
