import t from 'tap'
import { checkNodeVersion } from '../../../src/base/platform/node-version.js'

t.test('versions of Node.js before 22.14 are refused with the versions that are supported', async (t) => {
  for (const version of ['v22.14.0', 'v22.23.3', 'v24.0.0', 'v24.19.0', 'v24.21.0', 'v26.10.0']) {
    t.equal(checkNodeVersion(version), null, version)
  }
  for (const version of ['v16.0.0', 'v18.20.4', 'v20.20.2', 'v22.13.1']) {
    t.match(checkNodeVersion(version), new RegExp(`^Node.js ${version} is too old: use Node.js 22.14 or later`))
  }
})
