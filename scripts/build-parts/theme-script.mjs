/**
 * Puts the script that sets the color scheme before the first paint into the head of the dashboard. It is a file of its
 * own, since the Content-Security-Policy allows no inline script, and no module, since browsers run modules after the
 * first paint.
 */
import { readFile } from 'node:fs/promises'

const SOURCE = 'src/ui/style/first-theme.js'

export function themeScript() {
  let reference = ''
  let base = '/'
  return {
    name: 'theme-script',
    apply: 'build',
    configResolved(config) {
      base = config.base
    },
    async buildStart() {
      this.addWatchFile(SOURCE)
      reference = this.emitFile({ type: 'asset', name: 'first-theme.js', source: await readFile(SOURCE, 'utf8') })
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle }) {
        const asset = Object.values(bundle ?? {}).find(({ names }) => names?.includes('first-theme.js'))
        if (asset === undefined) throw new Error(`the build has no asset ${reference} of ${SOURCE}`)
        return [{ tag: 'script', attrs: { src: `${base}${asset.fileName}` }, injectTo: 'head-prepend' }]
      },
    },
  }
}
