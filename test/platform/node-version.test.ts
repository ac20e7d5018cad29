/** The versions of Node.js on which the program refuses to start. */
import t from 'tap'
import { checkNodeVersion } from '../../src/platform/node-version.js'

t.test('from 24.19 on the program would be aborted', async (t) => {
  for (const version of ['v20.19.0', 'v20.20.2', 'v22.0.0', 'v22.23.3', 'v24.0.0', 'v24.18.1']) {
    t.equal(checkNodeVersion(version), null, version)
  }
  for (const version of ['v24.19.0', 'v24.21.0', 'v25.1.0', 'v26.10.0']) {
    t.match(
      checkNodeVersion(version),
      new RegExp(`^Node\\.js ${version} aborts .* use Node\\.js 22, or 24\\.18$`),
      version,
    )
  }
  t.equal(checkNodeVersion(process.version), null, 'these tests run')
})
