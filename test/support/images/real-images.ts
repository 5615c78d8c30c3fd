import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ImageLayer } from '@berth/image-contents/layers/image-layer.ts'
import { goProgram } from '../deploy/go-tools.ts'
import {
  addComposerPackages,
  addDatabase,
  addDebianPackages,
  addDotnetProgram,
  addFiles,
  addGoProgram,
  addMavenArchives,
  addNpmPackages,
  addOsRelease,
  addPythonPackages,
  addRustProgram,
  writeIn,
} from './image-roots.ts'
import { run, tarOfFolder, writeLayout } from './oci-layout.ts'

/**
 * Images of Debian packages, of databases in test/package-databases, and of packages from npm, PyPI, Maven Central and the Go proxy: each a
 * list of layers. `work` is a folder beside the root of the layer.
 */

/** The program that images contain and that reads them. */
export const syftProgram = ['syft', 'github.com/anchore/syft/cmd/syft@v1.57.0'] as const

type BuildRoot = (root: string, work: string) => void

export const realImages: Readonly<Record<string, readonly BuildRoot[]>> = {
  'debian-base': [
    (root, work) =>
      addDebianPackages(root, join(work, '../debs'), [
        ...['base-files', 'bash', 'libc6', 'coreutils', 'zlib1g', 'libssl3', 'openssl', 'tar', 'gzip', 'sed'],
        ...['perl-base', 'libstdc++6', 'libgcc-s1', 'gcc-12-base', 'ncurses-base', 'libtinfo6', 'tzdata'],
      ]),
  ],
  'debian-distroless': [
    (root, work) =>
      addDebianPackages(
        root,
        join(work, '../debs'),
        ['base-files', 'libc6', 'libssl3', 'ca-certificates', 'netbase', 'tzdata'],
        'status.d',
      ),
  ],
  'debian-python': [
    (root, work) =>
      addDebianPackages(root, join(work, '../debs'), [
        ...['base-files', 'python3-minimal', 'libpython3.11-stdlib', 'python3-requests', 'python3-urllib3'],
        ...['python3-yaml', 'python3-setuptools', 'python3-wheel', 'python3-idna', 'python3-certifi'],
      ]),
  ],
  'debian-ruby': [
    (root, work) =>
      addDebianPackages(root, join(work, '../debs'), [
        ...['base-files', 'ruby3.1', 'libruby3.1', 'ruby-rack', 'ruby-nokogiri', 'rubygems-integration'],
      ]),
  ],
  alpine: [
    (root) => {
      addOsRelease(root, 'alpine', '3.17.0')
      addDatabase(root, 'lib/apk/db/installed', 'apk/syft-multiple-2-installed')
    },
  ],
  wolfi: [
    (root) => {
      addOsRelease(root, 'wolfi', '20230201')
      addDatabase(root, 'usr/lib/apk/db/installed', 'apk/apko-redis-operator-compat')
    },
  ],
  mariner: [
    (root) => {
      addOsRelease(root, 'mariner', '2.0')
      addDatabase(root, 'var/lib/rpm/rpmdb.sqlite', 'rpm/go-rpmdb-cbl-mariner-2.0-24.sqlite')
    },
  ],
  sles: [
    (root) => {
      addOsRelease(root, 'sles', '15.3')
      addDatabase(root, 'usr/lib/sysimage/rpm/Packages.db', 'rpm/go-rpmdb-sle15-bci-Packages.db.gz')
    },
  ],
  centos: [
    (root) => {
      addOsRelease(root, 'centos', '7')
      addDatabase(root, 'var/lib/rpm/Packages', 'rpm/syft-Packages')
    },
  ],
  ubuntu: [
    (root) => {
      addOsRelease(root, 'ubuntu', '18.04', 'debian')
      addDatabase(root, 'var/lib/dpkg/status', 'dpkg/trivy-valid.status')
    },
  ],
  npm: [
    (root) => addNpmPackages(root, ['express@4.21.2', 'typescript@5.9.2', 'pg@8.16.3', '@hapi/hapi@21.4.0']),
  ],
  pypi: [(root) => addPythonPackages(root, ['flask==3.1.0', 'requests==2.32.3', 'sqlalchemy==2.0.36'])],
  go: [
    (root, work) =>
      addGoProgram(root, work, ['github.com/spf13/cobra', 'golang.org/x/text/language', 'gopkg.in/yaml.v3']),
  ],
  maven: [
    (root, work) =>
      addMavenArchives(root, work, [
        ...['org.apache.logging.log4j:log4j-core:2.17.1', 'com.google.guava:guava:31.1-jre'],
        ...['commons-io:commons-io:2.11.0', 'org.springframework:spring-web:5.3.20'],
        ...['com.fasterxml.jackson.core:jackson-databind:2.13.3', 'org.slf4j:slf4j-api:1.7.36'],
        ...['org.eclipse.jetty:jetty-server:9.4.48.v20220622', 'junit:junit:4.13.2'],
        ...['org.bouncycastle:bcprov-jdk15on:1.70', 'com.h2database:h2:2.1.214', 'log4j:log4j:1.2.17'],
        ...[
          'org.springframework.boot:spring-boot-autoconfigure:2.7.0',
          'org.scala-lang:scala-library:2.13.8',
        ],
        ...['org.apache.tomcat.embed:tomcat-embed-core:9.0.63', 'xerces:xercesImpl:2.12.2'],
        ...['com.google.protobuf:protobuf-java:3.21.1', 'io.netty:netty-handler:4.1.77.Final'],
        ...['org.hibernate:hibernate-core:5.6.9.Final', 'org.apache.httpcomponents:httpclient:4.5.13'],
      ]),
  ],
  // Programs with hundreds of modules, of which some are replaced.
  'go-tools': [(root) => addFiles(root, 'usr/local/bin', [goProgram(...syftProgram), ...goTools()])],
  'rust-php-dotnet': [
    (root, work) => {
      addRustProgram(root, work, {
        tool: '0.1.0',
        serde: '1.0.200',
        libc: '0.2.155',
        'regex-syntax': '0.8.4',
      })
      addComposerPackages(root, {
        'symfony/console': 'v6.4.1',
        'psr/log': '3.0.0',
        'monolog/monolog': '3.5.0',
      })
      addDotnetProgram(root, { program: '1.0.0', 'Newtonsoft.Json': '13.0.3', Serilog: '3.1.1' })
    },
  ],
  // Packages in packages: vendored, nested and shaded ones, and programs within wheels and packages of npm.
  'python-tools': [
    (root) =>
      addPythonPackages(root, [
        ...['setuptools==75.8.0', 'pip==24.3.1', 'virtualenv==20.29.1', 'numpy==2.2.2', 'boto3==1.36.2'],
        ...['django==5.1.5', 'cryptography==44.0.0', 'uv==0.5.20', 'ruff==0.9.2', 'pythonnet==3.0.5'],
      ]),
  ],
  'npm-tools': [
    (root) => addNpmPackages(root, ['npm@10.9.2', 'esbuild@0.25.0', 'webpack@5.97.1', 'eslint@9.18.0']),
  ],
  'java-tools': [
    (root, work) => {
      addPythonPackages(root, ['openapi-generator-cli==7.10.0', 'tabula-py==2.10.0'])
      addMavenArchives(root, work, [
        ...['org.apache.hadoop:hadoop-client-runtime:3.3.6', 'org.jruby:jruby-complete:9.4.9.0'],
        ...['org.apache.pulsar:pulsar-client:2.11.4', 'org.apache.activemq:activemq-all:5.18.6'],
      ])
    },
  ],
  // Versions with advisories of test/advisories, or of the collection that they were chosen from.
  'old-libraries': [
    (root, work) => {
      addPythonPackages(root, ['protobuf==3.14.0'])
      addNpmPackages(root, ['i18next@1.10.2', 'marky-markdown@12.0.0', '@loopback/rest@8.0.0'])
      addGoProgram(
        root,
        work,
        [
          'golang.org/x/net/http2',
          'google.golang.org/grpc',
          'github.com/prometheus/client_golang/prometheus',
        ],
        [
          ...['golang.org/x/net@v0.10.0', 'google.golang.org/grpc@v1.56.0'],
          ...['github.com/prometheus/client_golang@v1.11.0'],
        ],
      )
      addMavenArchives(root, join(work, 'maven'), [
        ...['org.yaml:snakeyaml:1.26', 'commons-collections:commons-collections:3.2.1'],
        ...['io.netty:netty-codec:4.1.60.Final', 'org.jsoup:jsoup:1.14.1', 'dnsjava:dnsjava:3.5.0'],
        ...['org.apache.commons:commons-compress:1.20', 'org.apache.avro:avro:1.11.0'],
        ...['org.bouncycastle:bcprov-jdk15on:1.60', 'org.apache.tomcat:tomcat-coyote:9.0.63'],
      ])
      addRustProgram(root, work, {
        tool: '0.1.0',
        openssl: '0.10.40',
        smallvec: '0.6.5',
        mio: '0.8.8',
        im: '15.0.0',
        self_cell: '0.10.2',
        'xml-rs': '0.8.4',
        protobuf: '1.7.0',
        wasmtime: '0.34.1',
        secp256k1: '0.22.0',
        libflate: '0.1.20',
        json: '0.12.4',
      })
      addDotnetProgram(root, {
        program: '1.0.0',
        BouncyCastle: '1.8.1',
        'Google.Protobuf': '3.14.0',
        'BouncyCastle.Cryptography': '2.2.0',
      })
      addComposerPackages(root, { 'google/protobuf': 'v3.10.0' })
      for (const [name, version] of Object.entries({ passenger: '4.0.3', 'google-protobuf': '3.19.0' }))
        writeIn(
          root,
          `usr/lib/ruby/gems/3.1.0/specifications/${name}-${version}.gemspec`,
          `Gem::Specification.new do |s|\n  s.name = "${name}".freeze\n  s.version = "${version}"\nend\n`,
        )
    },
  ],
  'layers-with-deletions': [
    (root, work) => {
      addDebianPackages(root, join(work, '../debs'), ['base-files', 'libc6', 'bash', 'openssl'])
      addNpmPackages(root, ['express@4.21.2', 'pg@8.16.3'])
    },
    (root, work) => {
      addDebianPackages(root, join(work, '../debs'), ['base-files', 'libc6'])
      writeIn(root, 'app/node_modules/.wh.express', '')
      writeIn(root, 'app/node_modules/pg/.wh.package.json', '')
    },
  ],
}

/** Programs of the Go distribution itself. */
function goTools(): string[] {
  const root = run('go', ['env', 'GOROOT']).trim()
  return ['go', 'gofmt'].map((name) => join(root, 'bin', name))
}

/** Writes an image as an OCI layout into the folder `layout` of a directory, where its layers are built once. */
export function buildImage(directory: string, layers: readonly BuildRoot[]): ImageLayer[] {
  const tars = layers.map((build, at) => {
    const root = join(directory, `layer-${at}`)
    const work = join(directory, `work-${at}`)
    if (!existsSync(`${root}.tar`)) {
      rmSync(root, { recursive: true, force: true })
      for (const path of [root, work]) mkdirSync(path, { recursive: true })
      build(root, work)
    }
    return tarOfFolder(root)
  })
  return writeLayout(join(directory, 'layout'), tars, layers.length > 1 ? 'zstd' : 'gzip')
}
