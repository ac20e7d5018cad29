/**
 * Puts the script that sets the color scheme before the first paint into the head of the dashboard. It is a file of its
 * own, since the Content-Security-Policy allows no inline script, and no module, since browsers run modules after the
 * first paint.
 */
import { readFile } from 'node:fs/promises'
import { transformWithOxc } from 'vite'

const SOURCE = 'src/ui/style/first-theme.ts'

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
      const { code } = await transformWithOxc(await readFile(SOURCE, 'utf8'), SOURCE, {
        target: 'es2022',
        tsconfig: false,
      })
      reference = this.emitFile({ type: 'asset', name: 'first-theme.js', source: code })
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
