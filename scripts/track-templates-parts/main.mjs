/**
 * Proves on the HTML templates of other people's packages that tracking changes href values and adds the pixel, and
 * nothing else: parse5, which builds the tree that the HTML standard describes, parses each template before and after.
 * The way back must give each byte. Packages are fetched into a temporary folder, unpacked, never installed or run.
 *
 * Exits 1 if a template differs otherwise, or if there are fewer than 100.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createOwnUrls, linkUrlOf } from '../../dist/src/outbound/tracking/link-url.js'
import { restoreHtml } from '../../dist/src/outbound/tracking/restore-html.js'
import { EmailTracker } from '../../dist/src/outbound/tracking/track-email.js'
import { readTree, treeDifference } from './trees.mjs'

const parserPackage = 'parse5@8.0.0'
const packages = [
  'bootstrap-email@1.2.9',
  'foundation-emails@2.5.1',
  'grunt-email-builder@4.0.0',
  'email-builder-core@2.1.2',
  'swig-email-templates@7.0.0',
  'mailgen@2.0.36',
  'gulp-premailer@0.4.0',
  'textversionjs@1.1.3',
  'juice@1.11.0',
  'parse-server@4.10.0',
  'html-to-text@5.1.1',
]
const fewest = 100
/** Characters of HTML that is always tracked; two packages ship test files of megabytes. */
const largest = 500_000

const folder = mkdtempSync(join(tmpdir(), 'track-templates-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** The folder of an unpacked package. */
function fetchPackage(name) {
  const place = join(folder, name.replace(/\W+/g, '-'))
  mkdirSync(place)
  const options = { cwd: place, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }
  const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', name, '--json', '--ignore-scripts'], options))
  execFileSync('tar', ['xzf', filename], options)
  return place
}

function findTemplates(place) {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.html?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ file: file.slice(folder.length + 1), html: readFileSync(file, 'utf8') }))
    .filter(({ html }) => html.length <= largest && /<(?:body|table)\b/i.test(html))
}

async function loadParser() {
  const options = { cwd: folder, stdio: 'ignore' }
  execFileSync(
    'npm',
    ['install', '--ignore-scripts', '--no-save', '--no-audit', '--prefix', folder, parserPackage],
    options,
  )
  return import(pathToFileURL(join(folder, 'node_modules/parse5/dist/index.js')).href)
}

const base = 'https://mail.example.test'
const email = {
  workspaceId: 'ws_1',
  emailId: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee',
  domain: 'example.test',
  opens: true,
  clicks: true,
  now: 0,
}
const tracker = new EmailTracker({ trackingHost: { baseFor: () => base }, publicUrl: base })
const own = createOwnUrls(base)('posthorn.example.test')

/** Null: as it must be. */
function judge(html, parse) {
  const tracking = tracker.begin(email)
  const tracked = tracking.trackHtml(html)
  if (tracking.skipped() !== null) return { fault: `skipped: ${tracking.skipped()}`, links: 0 }
  const writes = tracking.collectWrites()
  const edits = JSON.parse(writes.at(-1).parameters.find((value) => typeof value === 'string' && value.startsWith('[')))
  if (restoreHtml(tracked, email.emailId, edits) !== html) return { fault: 'the way back differs', links: 0 }
  const urls = new Map(
    writes.slice(0, -1).map(({ parameters: [id, , , url] }) => [`${base}/v1/track/click/${id}`, url]),
  )
  const before = readTree(parse(html), { hrefOf: (href) => linkUrlOf(href, own) ?? href, pixelOf: () => false })
  const after = readTree(parse(tracked), {
    hrefOf: (href) => urls.get(href) ?? href,
    pixelOf: (src) => src === `${base}/v1/track/open/${email.emailId}`,
  })
  const pixels = after.pixels === 1 ? null : `${after.pixels} pixels`
  return { fault: treeDifference(before.nodes, after.nodes) ?? pixels, links: writes.length - 1 }
}

const { parse } = await loadParser()
let [templates, links, faults] = [0, 0, 0]
for (const name of packages) {
  const found = findTemplates(fetchPackage(name))
  let inPackage = 0
  for (const { file, html } of found) {
    const { fault, links: count } = judge(html, parse)
    inPackage += count
    if (fault === null) continue
    faults += 1
    console.log(`differs: ${file}: ${fault}`)
  }
  console.log(`${name}: ${found.length} templates, ${inPackage} links`)
  templates += found.length
  links += inPackage
}
console.log(
  `\n${templates} templates with ${links} links, ${faults} differ otherwise than in href values and the pixel`,
)
process.exit(faults === 0 && templates >= fewest ? 0 : 1)
