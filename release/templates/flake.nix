{
  description = "Command line of the svc media-generation and agent-run service";

  outputs =
    { nixpkgs, ... }:
    let
      archives = {
        x86_64-linux = {
          url = "@URL:svc:x86_64-unknown-linux-musl.tar.gz@";
          sha256 = "@SHA256:svc:x86_64-unknown-linux-musl.tar.gz@";
        };
        aarch64-linux = {
          url = "@URL:svc:aarch64-unknown-linux-musl.tar.gz@";
          sha256 = "@SHA256:svc:aarch64-unknown-linux-musl.tar.gz@";
        };
        x86_64-darwin = {
          url = "@URL:svc:x86_64-apple-darwin.tar.gz@";
          sha256 = "@SHA256:svc:x86_64-apple-darwin.tar.gz@";
        };
        aarch64-darwin = {
          url = "@URL:svc:aarch64-apple-darwin.tar.gz@";
          sha256 = "@SHA256:svc:aarch64-apple-darwin.tar.gz@";
        };
      };
      package =
        system: archive:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.stdenvNoCC.mkDerivation {
            pname = "svc";
            version = "@VERSION@";
            src = pkgs.fetchurl archive;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            installPhase = ''
              install -D svc $out/bin/svc
              installManPage man/man1/*.1
              installShellCompletion --bash --name svc completions/svc.bash
              installShellCompletion --zsh completions/_svc
              installShellCompletion --fish completions/svc.fish
            '';
            meta.mainProgram = "svc";
          };
        };
    in
    {
      packages = builtins.mapAttrs package archives;
    };
}
